"""A schedule with other phases for a policy that falls, and with a teacher."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune import main
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

SCHEDULE = """
algorithm: ppo-small
phases:
  faster: {decisions: 16, only: runs}
  forward: {decisions: 16, only: falls}
"""
SMALL = (
    "policy=scratch", "environment=QWOP-v1", "schedule=own.yaml", "loop.num_envs=1", "loop.steps=8",
    "evaluation.episodes=0", "evaluation.drawn=0", "video=false", "out=run",
)  # fmt: skip


@pytest.mark.parametrize(
    ("finishes", "said", "phase"),
    [
        (0, "the policy finishes 0 of 31 games: phases for one that falls", "2-forward"),
        (1, "the policy finishes 1 of 31 games: phases for one that runs", "1-faster"),
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


@pytest.mark.parametrize(("teacher", "phase"), [((), "1-alone"), (("teacher=teacher.safetensors",), "2-shown")])
def test_a_teacher_has_phases_of_its_own(
    teacher: tuple[str, ...], phase: str, finetune: Callable[..., Any], tmp_path: Path
) -> None:
    network = ActorCritic(4, 2, (8,), torch.Generator().manual_seed(0))
    save_policy(
        tmp_path / "teacher.safetensors", Policy(network, EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)))
    )
    (tmp_path / "own.yaml").write_text(
        "algorithm: ppo-small\nphases:\n  alone: {decisions: 16, only: untaught}\n"
        "  shown: {decisions: 16, only: taught, kickstarting: 1.0}\n"
    )
    done = finetune(*SMALL, "environment=CartPole-v1", *teacher)
    assert done.code == 0, done.err
    assert [one.stem for one in (tmp_path / "run" / "phases").glob("*.safetensors")] == [phase]
