"""The next command that cloning names."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.main import main as finetune
from qwop.pretrain.advice import next_step


@pytest.mark.parametrize(("finishes", "schedule"), [(3, "from-person"), (0, "beginner")])
@pytest.mark.parametrize("rate", [1, 3])
def test_a_clone_that_finishes_becomes_faster_and_one_that_falls_is_shown_how(
    finishes: int, schedule: str, rate: int
) -> None:
    played = [Mock(summary=lambda: {"finishes": 0}), Mock(summary=lambda: {"finishes": finishes})]
    environment = EnvironmentSpec("QWOP-v1", {"frames_per_step": rate})
    said = next_step(Path("runs/me/policy.safetensors"), environment, played, embedded=False)
    assert said == f"next: qwop-finetune policy=runs/me/policy.safetensors schedule={schedule} out=runs/me-faster"


@pytest.mark.parametrize(("stack", "size"), [(3, 36), (1, 48)])
def test_a_clone_of_pictures_that_falls_is_shown_how_by_a_teacher(stack: int, size: int) -> None:
    pictures = EnvironmentSpec("QWOP-v1", {"observation": "pixels", "stack": stack, "size": size})
    command, *words = next_step(Path("runs/me/policy.safetensors"), pictures, [], embedded=False).split()[1:]
    settings = finetune.read(words)
    assert (command, settings.teacher) == ("qwop-finetune", "champion")
    shown = settings.schedule.phases[0].environment
    assert (shown["observation"], shown["stack"], shown["size"]) == ("pixels", stack, size)


def test_a_clone_in_another_environment_goes_on_and_is_kept_where_that_makes_it_worse() -> None:
    said = next_step(Path("runs/me/policy.safetensors"), EnvironmentSpec("CartPole-v1"), [], embedded=False)
    command, *words = said.removeprefix("next: ").split()
    assert command == "qwop-finetune"
    settings = finetune.read(words)
    assert settings.policy == "runs/me/policy.safetensors"
    assert settings.schedule.phases[0].critic_only  # a critic that begins new ruins a clone
    assert sum(phase.decisions for phase in settings.schedule.phases) == 200_000
    assert settings.schedule.keep == "best"


def test_a_clone_in_the_working_folder_is_improved_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = next_step(Path("policy.safetensors"), EnvironmentSpec("CartPole-v1"), [], embedded=False)
    assert said.endswith(f"out=../{tmp_path.name}-better")
