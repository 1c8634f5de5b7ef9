"""Cloning prints sentences about the clone at its end, and the next command."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from qwop.commands import finetune
from qwop.envs.spec import EnvironmentSpec
from qwop.pretrain.measures import CLONE, REPEAT_LAST
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


def test_a_clone_in_another_environment_goes_on_and_is_kept_where_that_makes_it_worse() -> None:
    said = next_step(Path("runs/me/policy.safetensors"), EnvironmentSpec("CartPole-v1"), [])
    command, *words = said.removeprefix("next: ").split()
    assert command == "qwop-finetune"
    settings = finetune.read(words)
    assert settings.policy == "runs/me/policy.safetensors"
    assert settings.schedule.phases[0].critic_only  # a critic that begins new ruins a clone
    assert sum(phase.decisions for phase in settings.schedule.phases) == 200_000
    assert settings.schedule.keep == "best"


def test_a_clone_in_the_working_folder_is_improved_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = next_step(Path("policy.safetensors"), EnvironmentSpec("CartPole-v1"), [])
    assert said.endswith(f"out=../{tmp_path.name}-better")


def worth_of(
    greedy_finishes: int, drawn_finishes: int, *, greedy: bool = True, sharpness: float = 1.0, clone: float = 0.8
) -> list[str]:
    """Sentences about a clone with this accuracy, where the last action repeated has 0.6, after ten games of each
    kind."""

    def played(greedily: bool, finishes: int) -> Any:
        figures = {"finishes": finishes, "episodes": 10, "mean_metres": 7.25}
        return SimpleNamespace(settings=SimpleNamespace(greedy=greedily), summary=lambda: figures)

    measures = {CLONE: SimpleNamespace(accuracy=clone), REPEAT_LAST: SimpleNamespace(accuracy=0.6)}
    games = [played(True, greedy_finishes), played(False, drawn_finishes)]
    return worth([SimpleNamespace(measures=measures, learned=False)], games, greedy, sharpness)  # type: ignore[list-item]


def test_a_clone_is_compared_with_repeating_the_last_action() -> None:
    compared = "than repeating the last action (80% of the decisions held out, against 60%)."
    assert worth_of(9, 9)[0] == f"The clone predicts its player better {compared}"
    assert worth_of(0, 0, clone=0.6)[0].startswith("The clone predicts its player no better than")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, "with its most probable actions: 8 of 10 games finish (7.2 m on average), otherwise 3."),
        ({"greedy": False}, "with drawn actions: 3 of 10 games finish (7.2 m on average), otherwise 8."),
        (
            {"drawn_finishes": 9, "greedy": False, "sharpness": 2.0},
            "with drawn actions, its probabilities to the power of 2: 9 of 10 games finish (7.2 m on average), "
            "otherwise 8.",
        ),
    ],
)
def test_a_clone_is_described_as_it_is_to_be_played(found: dict[str, Any], said: str) -> None:
    described = worth_of(**{"greedy_finishes": 8, "drawn_finishes": 3, **found})[1]
    assert described == f"Its file says that it is played {said}"
