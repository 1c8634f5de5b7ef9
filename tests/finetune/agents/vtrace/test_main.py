"""`qwop-finetune algorithm=vtrace` as a person uses it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from qwop.policies.files import load_policy
from qwop.policies.recurrent import RecurrentActorCritic
from qwop.policies.rollout import play

pytestmark = pytest.mark.slow

Finetune = Callable[..., tuple[int, str, str]]

SMALL = (
    "algorithm=vtrace", "algorithm.hidden=[16]", "algorithm.memory=16", "schedule=live-only", "loop.num_envs=8",
    "loop.steps=20", "loop.checkpoint_every=480", "evaluation.episodes=2", "evaluation.drawn=0", "video=false",
)  # fmt: skip


def test_a_policy_file_remembers(finetune: Finetune, tmp_path: Path) -> None:
    code, _, said = finetune(*SMALL, "environment=CartPole-v1", "schedule.phases.alone.hours=0.02", "out=run")
    assert code == 0, said
    policy = load_policy(tmp_path / "run/policy.safetensors")
    assert isinstance(policy.network, RecurrentActorCritic)
    assert (policy.network.hidden, policy.network.memory) == ((16,), 16)
    assert [part.shape for part in policy.initial_state(3)] == [(3, 16), (3, 16)]
    one, several = ([*play(policy, episodes=5, seed=0, greedy=False, num_envs=n)] for n in (1, 5))
    assert [game.actions.tolist() for game in one] == [game.actions.tolist() for game in several]


def test_demonstrations_are_refused(finetune: Finetune) -> None:
    code, _, message = finetune(
        "algorithm=vtrace", "schedule=live-only", "schedule.phases.alone.demonstrations=1", "out=run"
    )
    assert code == 2
    assert "algorithm=vtrace learns from live play alone" in message
