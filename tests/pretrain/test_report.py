"""Cloning prints sentences about the clone at its end, and the next command."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from qwop.commands import finetune
from qwop.envs.spec import EnvironmentSpec
from qwop.pretrain.measures import CLONE, REPEAT_LAST, HeldOut, Measures
from qwop.pretrain.report import next_step, worth


@pytest.mark.parametrize(
    ("dataset", "schedule"), [("data/me", "person"), ("amateur", "kurodo"), ("champion", "from-clone")]
)
def test_a_clone_of_qwop_goes_on_by_the_schedule_of_its_games(dataset: str, schedule: str) -> None:
    games = [Mock(summary=lambda: {"finishes": 0})] * 2
    line = next_step(Path("runs/me/policy.safetensors"), EnvironmentSpec("QWOP-v1"), games, dataset)
    assert line == f"next: qwop-finetune policy=runs/me/policy.safetensors schedule={schedule} out=runs/me-faster"


@pytest.mark.parametrize(("stack", "size"), [(3, 36), (1, 48)])
def test_a_clone_of_pictures_that_falls_is_shown_how_by_a_teacher(stack: int, size: int) -> None:
    pictures = EnvironmentSpec("QWOP-v1", {"observation": "pixels", "stack": stack, "size": size})
    command, *words = next_step(Path("runs/me/policy.safetensors"), pictures, []).split()[1:]
    settings = finetune.read(words)
    assert (command, settings.teacher) == ("qwop-finetune", "champion")
    (shown,) = (phase.environment for phase in settings.schedule.phases if phase.name == "taught")
    assert (shown["observation"], shown["stack"], shown["size"]) == ("pixels", stack, size)


def test_a_clone_in_another_environment_goes_on_and_is_kept_where_that_makes_it_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    beside = next_step(Path("policy.safetensors"), EnvironmentSpec("CartPole-v1"), [])
    assert beside.endswith(f"out=../{tmp_path.name}-better")  # of one in the working folder
    said = next_step(Path("runs/me/policy.safetensors"), EnvironmentSpec("CartPole-v1"), [])
    command, *words = said.removeprefix("next: ").split()
    assert command == "qwop-finetune"
    settings = finetune.read(words)
    assert settings.policy == "runs/me/policy.safetensors"
    assert settings.schedule.phases[0].critic_only  # a critic that begins new ruins a clone
    assert sum(phase.decisions for phase in settings.schedule.phases) == 200_000
    assert settings.schedule.keep == "best"


@pytest.mark.parametrize(
    ("accuracy", "greedy", "sharpness", "words"),
    [
        (0.8, True, 1.0, ("better", "its most probable actions")),
        (0.6, False, 1.0, ("no better", "drawn actions")),
        (0.8, False, 2.0, ("better", "drawn actions, its probabilities to the power of 2")),
    ],
)
def test_a_clone_is_compared_with_repeating_the_last_action_and_described_as_it_is_to_be_played(
    accuracy: float, greedy: bool, sharpness: float, words: tuple[str, str]
) -> None:
    measures = {CLONE: Measures(9, accuracy, 1.0, 0.1), REPEAT_LAST: Measures(9, 0.6, 1.0, 0.1)}
    assert worth([HeldOut((0,), measures)], greedy, sharpness) == [
        f"The clone predicts its player {words[0]} than repeating the last action ({accuracy:.0%} of the decisions "
        "held out, against 60%).",
        f"It is played with {words[1]}.",
    ]
