"""Distillation of policies that a learner cannot continue."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents import distillation
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import ActorCritic, Network
from qwop.policies.policy import Policy
from qwop.policies.q_networks import QNetwork
from qwop.policies.recurrent import RecurrentActorCritic

SPEC = EnvironmentSpec("CartPole-v1")


@pytest.fixture(autouse=True)
def little_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distillation, "DECISIONS", 300)


def network(kind: str) -> Network:
    generator = torch.Generator().manual_seed(0)
    if kind == "q":
        return QNetwork(4, 2, (16,), generator)
    return RecurrentActorCritic(4, 2, (16,), 8, generator)


def test_own_play_is_whole_games_with_the_probabilities_that_actions_were_drawn_with() -> None:
    policy = Policy(network("recurrent"), SPEC, ObservationSpec((4,)))
    rows = distillation.own_play(policy, seed=0)
    assert len(rows) >= 300
    assert rows.probabilities is not None
    np.testing.assert_allclose(rows.probabilities.sum(axis=1), 1, rtol=1e-5)
    assert (rows.previous == -1).sum() % distillation.AT_ONCE == 0  # games are whole


@pytest.mark.parametrize(("kind", "algorithm"), [("q", "ppo-small"), ("recurrent", "acer-small")])
def test_a_policy_of_another_kind_is_distilled_and_goes_on(
    finetune: Callable[..., Any], tmp_path: Path, kind: str, algorithm: str
) -> None:
    save_policy(tmp_path / "policy.safetensors", Policy(network(kind), SPEC, ObservationSpec((4,))))
    more = ["loop.value_decisions=160"] if algorithm == "acer-small" else []
    done = finetune(
        "policy=policy.safetensors", f"algorithm={algorithm}", "schedule=live-only", "schedule.decisions=160",
        "evaluation.episodes=0", "video=false", "out=run", *more,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "does not fit the algorithm; distilled on " in done.out
    assert isinstance(load_policy(tmp_path / "run" / "policy.safetensors").network, ActorCritic)
