from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
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


def test_the_published_network_has_54_166_parameters() -> None:
    one = AcerLearner(ActorCritic(71, 11), AcerSettings(), CPU)
    assert sum(parameter.numel() for parameter in one.network.parameters()) == 54_166


def test_an_update_moves_the_network_and_its_average_a_hundredth_as_far(batch: Sequences) -> None:
    one = learner()
    before, average = parameters(one.network), parameters(one.average)
    one.update(batch, NOW)
    for name, new in parameters(one.network).items():
        assert not torch.equal(new, before[name])
        expected = 0.99 * average[name] + 0.01 * new
        assert torch.allclose(dict(one.average.named_parameters())[name], expected, atol=1e-7)


def test_nothing_of_the_average_network_gathers_a_gradient(batch: Sequences) -> None:
    one = learner()
    one.update(batch, NOW)
    assert all(parameter.grad is None for parameter in one.average.parameters())


def test_critic_only_moves_the_q_head_alone(batch: Sequences) -> None:
    one = learner()
    before = parameters(one.network)
    one.update(batch, NOW._replace(critic_only=True))
    moved = {name for name, new in parameters(one.network).items() if not torch.equal(new, before[name])}
    assert moved == {"q_head.weight", "q_head.bias"}


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


def test_a_learning_rate_of_nothing_changes_nothing(batch: Sequences) -> None:
    one = learner()
    before = parameters(one.network)
    one.update(batch, NOW._replace(learning_rate=0.0))
    assert all(torch.equal(new, before[name]) for name, new in parameters(one.network).items())


def test_imitation_acts_on_demonstrations_alone(batch: Sequences) -> None:
    batch = replace(batch, player=np.eye(3, dtype=np.float32)[batch.actions])
    shown = replace(batch, source=np.full(6, DEMONSTRATIONS, dtype=np.int8))
    for one_batch, expected in ((batch, False), (shown, True)):
        plain, imitating = learner(), learner()
        plain.update(one_batch, NOW)
        imitating.update(one_batch, NOW._replace(imitation=1.0))
        weights = plain.network.policy_head.weight, imitating.network.policy_head.weight
        assert torch.equal(*weights) is not expected


def test_it_learns_which_action_pays(make_sequences: Callable[..., Sequences]) -> None:
    one = learner(learning_rate=0.02)
    generator = np.random.default_rng(0)
    for _ in range(400):
        raw = make_sequences(16)
        actions = generator.integers(3, size=raw.actions.shape)
        batch = replace(
            raw,
            observations=generator.normal(size=raw.observations.shape).astype(np.float32),
            actions=actions,
            rewards=(actions == 1).astype(np.float32),
        )
        one.update(batch, NOW._replace(gamma=0.0))
    assert one.probabilities(np.zeros((1, 2), dtype=np.float32))[0, 1] > 0.9


def test_the_entropy_bonus_keeps_a_policy_open(make_sequences: Callable[..., Sequences]) -> None:
    def entropy(weight: float) -> float:
        one = learner(learning_rate=0.02, entropy_coefficient=weight)
        with torch.no_grad():
            one.network.policy_head.bias.copy_(torch.tensor([2.0, 0.0, 0.0]))
        raw = make_sequences(8)
        still = replace(raw, observations=raw.observations / 1e4, rewards=np.zeros_like(raw.rewards))
        for _ in range(100):
            one.update(still, NOW._replace(gamma=0.0))
        pi = one.probabilities(np.zeros((1, 2), dtype=np.float32))[0]
        return float(-(pi * np.log(pi)).sum())

    assert entropy(0.5) > entropy(0.0) + 0.2


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


def test_its_state_goes_on_to_the_bit(batch: Sequences) -> None:
    one, other = learner(), learner(seed=1)
    for _ in range(3):
        one.update(batch, NOW)
    other.set_state(one.get_state())
    for each in (one, other):
        each.update(batch, NOW)
    for name, weights in parameters(one.network).items():
        assert torch.equal(weights, parameters(other.network)[name])
    for name, weights in parameters(one.average).items():
        assert torch.equal(weights, parameters(other.average)[name])


def test_half_precision_learns_nearly_the_same(batch: Sequences) -> None:
    one, other = learner(hidden=(32, 16)), learner(hidden=(32, 16), precision="bfloat16")
    for each in (one, other):
        each.update(batch, NOW)
    for name, weights in parameters(one.network).items():
        assert torch.allclose(weights, parameters(other.network)[name], atol=2e-4)


@pytest.mark.parametrize("wrong", [{"precision": "float8"}, {"delta": 0.0}])
def test_settings_that_cannot_be_used_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(wrong))):
        AcerSettings(**wrong)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_learns_the_same_but_for_rounding(batch: Sequences) -> None:
    one = learner()
    other = learner(device=torch.device("cuda"))
    for _ in range(3):
        one.update(batch, NOW)
        other.update(batch, NOW)
    for name, weights in parameters(one.network).items():
        assert torch.allclose(weights, parameters(other.network)[name].cpu(), atol=1e-4)


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
