"""A schedule with other phases for a policy that falls."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from qwop.finetune import main

SCHEDULE = """
algorithm: ppo-small
phases:
  faster: {decisions: 16}
falls:
  phases:
    forward: {decisions: 16}
"""
SMALL = (
    "policy=scratch", "environment=QWOP-v1", "schedule=own.yaml", "loop.num_envs=1", "loop.steps=8",
    "evaluation.episodes=0", "evaluation.drawn=0", "video=false", "out=run",
)  # fmt: skip


@pytest.mark.parametrize(
    ("finishes", "said", "phase"),
    [
        (0, "the policy finishes 0 of 31 games: phases for one that falls (forward)", "1-forward"),
        (1, "the policy finishes 1 of 31 games: phases for one that runs (faster)", "1-faster"),
    ],
)
def test_phases_follow_from_the_games_that_the_policy_finishes(
    finishes: int,
    said: str,
    phase: str,
    finetune: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def games(*arguments: object) -> Any:
        return SimpleNamespace(summary=lambda: {"finishes": finishes, "episodes": 31})

    monkeypatch.setattr(main, "games_of", games)
    (tmp_path / "own.yaml").write_text(SCHEDULE)
    done = finetune(*SMALL)
    assert done.code == 0
    assert said in done.out.splitlines()
    assert [one.stem for one in (tmp_path / "run" / "phases").glob("*.safetensors")] == [phase]

    # A resumed run plays the policy that it began with, and so chooses the same.
    done = finetune(*SMALL, "resume=true")
    assert done.code == 0, done.err
    assert said in done.out.splitlines()


def test_a_wrong_setting_of_these_phases_is_refused_at_once(finetune: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(SCHEDULE)
    done = finetune(*SMALL, "+schedule.falls.phases.forward.hours=-1")
    assert done.code == 2
    assert done.err.startswith("qwop-finetune: own.yaml: schedule.falls: schedule.phases.forward.hours=-1: expected")
    assert len(done.err.splitlines()) == 1
