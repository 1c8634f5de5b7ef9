"""An update of PPO: what it moves, what it leaves, and what it does not depend on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.finetune.agents.ppo.learner import PpoLearner
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.policies.networks import Actor, ActorCritic, ValuedActor, Values
from qwop.pretrain.rows import Rows
from torch import Tensor, nn

from ...runs import NOW
from ..live_play import make_batch

SMALL = PpoSettings(hidden=(16,), minibatch=10)


def learner(network: Actor | ActorCritic | None = None, settings: PpoSettings = SMALL) -> PpoLearner:
    made = network or Actor(2, 3, (16,), torch.Generator().manual_seed(0))
    values = Values(made.observation_size, settings.hidden, torch.Generator().manual_seed(1))
    return PpoLearner(made, values, settings, torch.device("cpu"), np.random.default_rng(0))


def weights(module: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()]).clone()


def played(make_sequences: Callable[..., Sequences], network: Actor | ActorCritic, **more: Any) -> Sequences:
    """Sequences whose actions have the probabilities that the network gives them."""
    one = make_sequences(6, steps=5, **more)
    one = replace(one, observations=one.observations / 1000)
    with torch.no_grad():
        logits = network.logits(torch.from_numpy(one.observations[:, :-1].copy()))
    return replace(one, behaviour_probabilities=torch.softmax(logits, -1).numpy(), rewards=one.rewards / 1000)


def test_an_update_moves_policy_and_values(make_sequences: Callable[..., Sequences]) -> None:
    one = learner(settings=SMALL.with_(epochs=2, target_kl=10.0))
    before = weights(one.network), weights(one.values)
    stats = one.update(played(make_sequences, one.network), NOW)
    assert not torch.equal(before[0], weights(one.network))
    assert not torch.equal(before[1], weights(one.values))
    assert stats.scalars["epochs"] == 2.0


def test_the_policy_that_played_is_at_no_distance_before_the_first_step(
    make_sequences: Callable[..., Sequences],
) -> None:
    network = Actor(2, 3, (16,), torch.Generator().manual_seed(0))
    network.scaler.mean.fill_(1.0)  # statistics of its own, so that the update leaves them
    one = learner(network, SMALL.with_(epochs=1, minibatch=1000))
    stats = one.update(played(make_sequences, network), NOW._replace(learning_rate=0.0))
    assert stats.scalars["kl"] == pytest.approx(0.0, abs=1e-6)
    assert stats.scalars["clipped_share"] == 0.0


def test_running_statistics_leave_the_ratios_of_the_first_step_alone(
    make_sequences: Callable[..., Sequences],
) -> None:
    one = learner(settings=SMALL.with_(epochs=1, minibatch=1000))
    with torch.no_grad():
        one.network.policy_head.weight.mul_(100)
    one.update(played(make_sequences, one.network), NOW._replace(learning_rate=0.0))
    further = played(make_sequences, one.network, first=30)
    mean = one.network.scaler.mean.clone()
    stats = one.update(further, NOW._replace(learning_rate=0.0))
    assert stats.scalars["kl"] == pytest.approx(0.0, abs=1e-6)
    assert not torch.equal(mean, one.network.scaler.mean)  # they move, but afterwards


def test_the_explained_share_of_the_returns_variance_is_the_critics(make_sequences: Callable[..., Sequences]) -> None:
    one = learner(settings=SMALL.with_(epochs=1, minibatch=1000))
    batch = played(make_sequences, one.network)
    assert one.values is not None
    with torch.no_grad():
        one.values.head.weight.zero_()
        one.values.head.bias.fill_(0.01)
        stats = one.update(batch, NOW._replace(gamma=0.0, learning_rate=0.0))
    returns = batch.rewards.astype(np.float64)  # without a future
    assert stats.scalars["value"] == pytest.approx(0.01)
    expected = 1.0 - np.square(returns - 0.01).mean() / returns.var(ddof=1)
    assert stats.scalars["explained_variance"] == pytest.approx(expected, rel=1e-4)


def test_an_update_ends_early_far_from_the_policy_that_played(make_sequences: Callable[..., Sequences]) -> None:
    one = learner(settings=SMALL.with_(epochs=50, target_kl=1e-5))
    stats = one.update(played(make_sequences, one.network), NOW)
    assert stats.scalars["epochs"] < 50


def test_critic_only_leaves_the_policy_as_it_is(make_sequences: Callable[..., Sequences]) -> None:
    one = learner()
    before = weights(one.network), weights(one.values)
    one.update(played(make_sequences, one.network), NOW._replace(critic_only=True))
    assert torch.equal(before[0], weights(one.network))
    assert not torch.equal(before[1], weights(one.values))


def test_a_new_network_is_scaled_by_all_that_was_played_and_a_fitted_one_stays_so(
    make_sequences: Callable[..., Sequences],
) -> None:
    one = learner()
    parts = [played(make_sequences, one.network, first=first) for first in (0, 6)]
    for part in parts:
        one.update(part, NOW)
    rows = np.concatenate([part.observations[:, :-1].reshape(-1, 2) for part in parts])
    torch.testing.assert_close(one.network.scaler.mean, torch.from_numpy(rows.mean(0)))
    torch.testing.assert_close(one.network.scaler.std, torch.from_numpy(rows.std(0)))

    fitted = Actor(2, 3, (16,), torch.Generator().manual_seed(0))
    fitted.scaler.fit(rows[:5])
    mean = fitted.scaler.mean.clone()
    other = learner(fitted)
    other.update(parts[0], NOW)
    assert torch.equal(fitted.scaler.mean, mean)


def test_time_limits_are_bootstrapped_from_what_they_stopped_at(make_sequences: Callable[..., Sequences]) -> None:
    one = learner()
    stopped = played(make_sequences, one.network, truncated_every=2)
    moved = replace(stopped, finals=stopped.finals._replace(observations=stopped.finals.observations + 1.0))
    states = []
    for sequences in (stopped, moved):
        again = learner()
        again.update(sequences, NOW)
        states.append(weights(again.values))
    assert not torch.equal(*states)


def test_it_goes_on_from_its_state_to_the_bit(make_sequences: Callable[..., Sequences]) -> None:
    one = learner()
    sequences = played(make_sequences, one.network)
    one.update(sequences, NOW)
    state = one.get_state()
    one.update(sequences, NOW)
    other = learner(Actor(2, 3, (16,), torch.Generator().manual_seed(9)))
    other.set_state(state)
    other.update(sequences, NOW)
    assert torch.equal(weights(one.network), weights(other.network))
    assert torch.equal(weights(one.values), weights(other.values))
    assert torch.equal(one.network.scaler.mean, other.network.scaler.mean)


def test_it_continues_an_actor_critic_and_leaves_its_q_head(make_sequences: Callable[..., Sequences]) -> None:
    network = ActorCritic(2, 3, (16,), torch.Generator().manual_seed(0))
    q_head, trunk = network.q_head.weight.detach().clone(), network.trunk[0].weight.detach().clone()
    for parameter in network.parameters():  # as ACER leaves them
        parameter.grad = torch.ones_like(parameter)
    one = learner(network)
    one.update(played(make_sequences, network), NOW)
    assert torch.equal(q_head, network.q_head.weight)
    assert not torch.equal(trunk, network.trunk[0].weight)


def test_half_precision_learns_nearly_the_same(make_sequences: Callable[..., Sequences]) -> None:
    one, other = learner(), learner(settings=SMALL.with_(precision="bfloat16"))
    together = played(make_sequences, one.network)
    for each in (one, other):
        each.update(together, NOW)
    assert torch.allclose(weights(one.network), weights(other.network), atol=1e-2)
    assert not torch.equal(weights(one.network), weights(other.network))


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(BadInput, match="precision"):
        PpoSettings(precision="float8")


def test_a_batch_of_one_decision_is_refused() -> None:
    assert PpoLoopSettings(num_envs=1, steps=2).decisions == 2
    with pytest.raises(BadInput, match="num_envs=1 and steps=1: PPO learns from 2 decisions"):
        PpoLoopSettings(num_envs=1, steps=1)


def test_rewards_are_clipped_where_the_settings_say_so(make_sequences: Callable[..., Sequences]) -> None:
    clipping = SMALL.with_(clip_rewards=True)
    rewards = np.linspace(-3.0, 3.0, 30, dtype=np.float32).reshape(6, 5)
    found = []
    for settings, given in ((clipping, rewards), (SMALL, np.clip(rewards, -1.0, 1.0)), (SMALL, rewards)):
        one = learner(settings=settings)
        one.update(replace(played(make_sequences, one.network), rewards=given), NOW)
        found.append(weights(one.values))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("shared", [False, True])
def test_a_gpu_learns_as_the_cpu_does(shared: bool) -> None:
    found = []
    for device in ("cpu", "cuda"):
        generator = torch.Generator().manual_seed(0)
        network = (ValuedActor if shared else Actor)(2, 3, (16,), generator)
        values = None if shared else Values(2, (16,), generator)
        settings = PpoSettings(minibatch=10, target_kl=100.0)
        random = np.random.default_rng(0)
        shown = Rows(
            random.normal(size=(30, 2)).astype(np.float32), random.integers(3, size=30), np.zeros(30, np.int64)
        )
        learner = PpoLearner(network, values, settings, torch.device(device), np.random.default_rng(0), shown)
        phases = (
            NOW,
            NOW._replace(critic_only=True),
            NOW._replace(imitation=0.5),
            NOW._replace(imitation=0.2, entropy=3),
        )
        for number, now in enumerate((*phases, *phases)):
            learner.update(make_batch(number), now)
        found.append([one.detach().cpu() for one in learner._parameters()])
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-4)
