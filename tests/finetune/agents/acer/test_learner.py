from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.agents.acer.learner import AcerLearner
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, Sequences, interleave
from qwop.policies.networks import ActorCritic
from torch import Tensor, nn

from ...runs import NOW

CPU = torch.device("cpu")


def learner(seed: int = 0, hidden: tuple[int, ...] = (16,), device: torch.device = CPU, **settings: Any) -> AcerLearner:
    network = ActorCritic(2, 3, hidden, torch.Generator().manual_seed(seed))
    return AcerLearner(network, AcerSettings(**{"reward_scale": 1.0, **settings}), device)


@pytest.fixture
def batch(make_sequences: Callable[..., Sequences]) -> Sequences:
    raw = make_sequences(6, truncated_every=2)
    return replace(raw, observations=raw.observations / 1000, rewards=raw.rewards / 1000)


def parameters(module: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in module.named_parameters()}


def test_fitted_values_are_those_of_the_policy_and_leave_it_as_it_is(make_sequences: Callable[..., Sequences]) -> None:
    # A walk along a line with a reward of 1 a step, forever: V = 1/(1 − γ) everywhere.
    one = learner()
    raw = make_sequences(200)
    endless = replace(raw, observations=raw.observations / 1e5, rewards=np.ones_like(raw.rewards))
    before = parameters(one.network)
    one.fit_values(endless, 0.9)
    _, q = one.network(torch.from_numpy(endless.observations[:5, 0]))
    assert q.detach().numpy() == pytest.approx(10.0, rel=1e-2)
    moved = {name for name, new in parameters(one.network).items() if not torch.equal(new, before[name])}
    assert moved == {"q_head.weight", "q_head.bias"}
    assert torch.equal(one.average.q_head.weight, one.network.q_head.weight)
    # The same where every sequence is cut by a time limit, but not where it is a real end.
    limited = make_sequences(200, truncated_every=1)
    one.fit_values(replace(limited, observations=limited.observations / 1e5, rewards=np.ones_like(raw.rewards)), 0.9)
    assert one.network(torch.from_numpy(endless.observations[:5, 0]))[1].mean().item() > 9
    ended = np.zeros_like(raw.terminated)
    ended[:, 1] = True
    one.fit_values(replace(endless, terminated=ended), 0.9)
    assert one.network(torch.from_numpy(endless.observations[:5, 0]))[1].mean().item() < 5


def test_a_diagnosis_tells_the_sources_apart(batch: Sequences) -> None:
    certain = np.tile(np.array([0.01, 0.01, 0.98], dtype=np.float32), (6, 4, 1))
    shown = replace(
        batch,
        behaviour_probabilities=certain,
        actions=np.zeros((6, 4), dtype=np.int64),
        source=np.full(6, DEMONSTRATIONS, dtype=np.int8),
    )
    stats = learner().update(interleave(batch, shown), NOW, diagnose=True)
    assert stats.by_source["live"]["importance_weight"] == pytest.approx(1.0, abs=0.1)
    assert stats.by_source["live"]["truncated_share"] == 0.0
    assert stats.by_source["demonstrations"]["importance_weight"] == pytest.approx(33, rel=0.1)
    assert stats.by_source["demonstrations"]["truncated_share"] == 1.0
    assert stats.by_source["demonstrations"]["trace_length"] == pytest.approx(3.5)  # half are cut after 3


def test_the_diagnosis_shows_how_the_learner_stands_to_demonstrations(batch: Sequences) -> None:
    shown = replace(
        batch,
        source=np.full(6, DEMONSTRATIONS, dtype=np.int8),
        player=np.eye(3, dtype=np.float32)[batch.actions],
        returns=np.full((6, 4), 5.0, dtype=np.float32),
        known=np.ones((6, 4), dtype=np.bool_),
    )
    one = learner(achieved_returns=True, reward_scale=0.5)
    untrained = one.update(shown, NOW._replace(imitation=1.0), diagnose=True)
    assert untrained is not None
    figures = untrained.by_source["demonstrations"]
    assert figures["achieved"] == pytest.approx(2.5)
    assert figures["value"] == pytest.approx(0.0, abs=0.1)
    assert figures["nats"] == pytest.approx(np.log(3), abs=0.05)
    assert figures["pushed_down"] == 0.0
    # Without imitation, actions that paid less than V are made less probable, here all of them.
    poor = replace(shown, rewards=np.full((6, 4), -10.0, dtype=np.float32))
    found = learner().update(poor, NOW, diagnose=True)
    assert found is not None
    assert found.by_source["demonstrations"]["pushed_down"] == 1.0


def test_values_are_fitted_to_scaled_rewards(make_sequences: Callable[..., Sequences]) -> None:
    raw = make_sequences(200)
    endless = replace(raw, observations=raw.observations / 1e5, rewards=np.ones_like(raw.rewards))
    one = learner(reward_scale=0.1)
    one.fit_values(endless, 0.9)
    assert one.network(torch.from_numpy(endless.observations[:5, 0]))[1].detach().numpy() == pytest.approx(
        1.0, rel=1e-2
    )
