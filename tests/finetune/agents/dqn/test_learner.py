"""One update of double DQN, looked at from outside."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.common.errors import BadInput
from qwop.finetune.agents.dqn.learner import DqnLearner
from qwop.finetune.agents.dqn.settings import DdqnSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE
from qwop.finetune.experience.transitions import Transitions
from qwop.policies.q_networks import DuelingQ
from torch import Tensor

from ...runs import NOW

CPU = torch.device("cpu")


def learner(seed: int = 0, device: torch.device = CPU, **settings: Any) -> DqnLearner:
    chosen = DdqnSettings(**{"hidden": (16, 8), "reward_scale": 1.0, **settings})
    generator = torch.Generator().manual_seed(seed)
    return DqnLearner(DuelingQ(2, 3, chosen.hidden, generator), chosen, device)


def make(n: int = 8, seed: int = 0, source: int = LIVE, **columns: Any) -> Transitions:
    generator = np.random.default_rng(seed)
    return replace(
        Transitions(
            observations=generator.normal(size=(n, 2)).astype(np.float32),
            actions=generator.integers(3, size=n),
            rewards=generator.normal(size=n).astype(np.float32),
            discounts=np.full(n, 0.9, dtype=np.float32),
            next_observations=generator.normal(size=(n, 2)).astype(np.float32),
            source=np.full(n, source, dtype=np.int8),
        ),
        **columns,
    )


def weights_of(network: Any) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


def ones(n: int = 8) -> NDArray[np.float32]:
    return np.ones(n, dtype=np.float32)


def test_the_target_stands_still_until_it_is_copied_and_has_no_gradients() -> None:
    one = learner()
    before = weights_of(one.target)
    for _ in range(3):
        one.update(make(), NOW, ones())
    assert torch.equal(weights_of(one.target), before)
    assert not torch.equal(weights_of(one.network), before)
    assert all(parameter.grad is None for parameter in one.target.parameters())
    one.copy_target()
    assert torch.equal(weights_of(one.target), weights_of(one.network))


def test_errors_are_those_of_the_double_target_neither_weighted_nor_clipped() -> None:
    one, batch = learner(reward_scale=2.0), make(rewards=np.full(8, 50.0, dtype=np.float32))
    with torch.no_grad():
        one.target.value[0].bias.add_(1.0)
        q = one.network(torch.from_numpy(batch.observations)).numpy()
        best = one.network(torch.from_numpy(batch.next_observations)).argmax(-1).numpy()
        following = one.target(torch.from_numpy(batch.next_observations)).numpy()
    rows = np.arange(8)
    expected = 100.0 + 0.9 * following[rows, best] - q[rows, batch.actions]
    errors, _ = one.update(batch, NOW, 0.1 * ones())
    np.testing.assert_allclose(errors, expected, rtol=1e-5)


def test_a_sample_of_weight_zero_teaches_nothing() -> None:
    """The update is the one without that sample (at half the mean), which an average of the weights would not give."""
    both, alone = learner(), learner()
    first = make()[np.arange(4)]
    batch = make()
    both.update(batch, NOW, np.array([2.0] * 4 + [0.0] * 4, dtype=np.float32))
    alone.update(first, NOW, ones(4))
    torch.testing.assert_close(weights_of(both.network), weights_of(alone.network), rtol=0, atol=1e-6)


def test_each_parameter_is_clipped_by_itself() -> None:
    one = learner(max_gradient_norm=1e-3)
    one.update(make(rewards=np.full(8, 100.0, dtype=np.float32)), NOW, ones())
    norms = [float(parameter.grad.norm()) for parameter in one.network.parameters()]
    assert all(norm <= 1.001e-3 for norm in norms)
    assert sum(norm > 0.99e-3 for norm in norms) > 6


@pytest.mark.parametrize(("source", "expected"), [(DEMONSTRATIONS, False), (LIVE, True)])
def test_the_margin_loss_is_for_demonstrations_alone(source: int, expected: bool) -> None:
    plain, imitating = learner(), learner()
    plain.update(make(source=source), NOW, ones())
    imitating.update(make(source=source), NOW._replace(imitation=1.0), ones())
    assert torch.equal(weights_of(plain.network), weights_of(imitating.network)) is expected


def test_the_margin_loss_makes_the_demonstrated_action_the_greedy_one() -> None:
    one = learner(learning_rate=0.01)
    batch = make(
        32,
        source=DEMONSTRATIONS,
        actions=np.full(32, 2, dtype=np.int64),
        rewards=np.zeros(32, dtype=np.float32),
        discounts=np.zeros(32, dtype=np.float32),
    )
    for _ in range(100):
        one.update(batch, NOW._replace(imitation=1.0), ones(32))
    q = one.network(torch.from_numpy(batch.observations))
    assert (q.argmax(-1) == 2).all()
    assert (q[:, 2] - q[:, :2].max(-1).values > 0.4).all()


def test_it_learns_which_action_pays() -> None:
    one, generator = learner(learning_rate=0.01), np.random.default_rng(0)
    for number in range(200):
        batch = make(32, seed=number)
        rewards = (batch.actions == 1) + 0.1 * generator.normal(size=32)
        one.update(
            replace(batch, rewards=rewards.astype(np.float32), discounts=np.zeros(32, dtype=np.float32)), NOW, ones(32)
        )
    q = one.network(torch.zeros(1, 2))[0].tolist()
    assert q == pytest.approx([0, 1, 0], abs=0.15)


def test_an_ended_episode_is_worth_its_reward_alone() -> None:
    one = learner()
    before = one.network(torch.from_numpy(make().observations)).detach().numpy()
    batch = make(discounts=np.zeros(8, dtype=np.float32))
    errors, _ = one.update(batch, NOW, ones())
    np.testing.assert_allclose(errors, batch.rewards - before[np.arange(8), batch.actions], rtol=1e-4, atol=1e-6)


def test_its_state_goes_on_to_the_bit() -> None:
    one, other = learner(), learner(seed=1)
    for number in range(3):
        one.update(make(seed=number), NOW, ones())
    other.set_state(one.get_state())
    for each in (one, other):
        each.update(make(seed=9), NOW, ones())
        each.copy_target()
    assert torch.equal(weights_of(one.network), weights_of(other.network))


def test_a_diagnosis_tells_the_sources_apart() -> None:
    batch = replace(make(), source=np.array([LIVE] * 6 + [DEMONSTRATIONS] * 2, dtype=np.int8))
    weights = np.array([1.0] * 6 + [0.5] * 2, dtype=np.float32)
    errors, stats = learner().update(batch, NOW, weights, diagnose=True)
    assert stats.by_source["demonstrations"]["importance_weight"] == 0.5
    assert stats.by_source["live"]["td_error"] == pytest.approx(float(errors[:6].abs().mean()))


@pytest.mark.parametrize(
    "wrong", [{"n_steps": 0}, {"epsilon_start": 1.5}, {"learning_rate": 0.0}, {"epsilon_share": 0.0}]
)
def test_settings_that_cannot_be_used_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(wrong))):
        DdqnSettings(**wrong)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_learns_as_the_cpu_does() -> None:
    here, there = learner(), learner(device=torch.device("cuda"))
    random = np.random.default_rng(0)
    for number, imitation in enumerate((0.0, 0.5, 0.0, 0.5, 0.1)):
        batch = make(seed=number, source=DEMONSTRATIONS if number % 2 else LIVE)
        weights, now = random.uniform(size=8).astype(np.float32), NOW._replace(imitation=imitation)
        errors = [one.update(batch, now, weights)[0].cpu() for one in (here, there)]
        torch.testing.assert_close(*errors, rtol=1e-3, atol=1e-4)
        if number == 2:
            here.copy_target()
            there.copy_target()
    torch.testing.assert_close(weights_of(here.network), weights_of(there.network).cpu(), rtol=1e-3, atol=1e-4)
