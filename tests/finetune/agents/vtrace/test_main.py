"""`qwop-finetune algorithm=vtrace` as a person uses it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.policies.files import load_policy
from qwop.policies.recurrent import RecurrentActorCritic
from qwop.policies.rollout import play

pytestmark = pytest.mark.slow

Finetune = Callable[..., tuple[int, str, str]]

SMALL = (
    "algorithm=vtrace", "algorithm.hidden=[16]", "algorithm.memory=16", "schedule=live-only", "loop.num_envs=8",
    "loop.steps=20", "loop.checkpoint_every=480", "evaluation.episodes=2", "evaluation.drawn=0", "video=false",
)  # fmt: skip


def weights(path: Path) -> dict[str, torch.Tensor]:
    return dict(load_policy(path).network.state_dict())


@pytest.mark.parametrize("environment", ["CartPole-v1", "QWOP-v1"])
def test_a_resumed_run_equals_an_uninterrupted_one(environment: str, finetune: Finetune, tmp_path: Path) -> None:
    """QWOP's games and the policy's memories of them are saved in the middle; CartPole's begin anew."""
    settings = (*SMALL, f"environment={environment}", "schedule.phases.alone.hours=0.04")
    code, _, said = finetune(*settings, "out=whole")
    assert code == 0, said
    (tmp_path / "half").mkdir()
    code, _, said = finetune(*settings, "out=half")
    assert code == 0, said
    first = checkpoints(tmp_path / "half/checkpoints")[0]
    for newer in checkpoints(tmp_path / "half/checkpoints")[1:]:
        newer.unlink()
    if environment == "QWOP-v1":
        policy_state = load_checkpoint(first)["collector"]["policy"]
        assert [np.asarray(part).shape for part in policy_state] == [(8, 16), (8, 16)]
    (tmp_path / "half/policy.safetensors").unlink()
    code, _, said = finetune(*settings, "out=half", "resume=true")
    assert code == 0, said
    one, two = (weights(tmp_path / run / "policy.safetensors") for run in ("whole", "half"))
    assert all(torch.equal(one[name], two[name]) for name in one)


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
