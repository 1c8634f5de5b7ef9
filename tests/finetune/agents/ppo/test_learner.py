"""An update of PPO: what it moves, what it leaves, and what it does not depend on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.agents.ppo.learner import PpoLearner
from qwop.finetune.agents.ppo.settings import PpoSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.policies.networks import Actor, ActorCritic, Values
from torch import Tensor, nn

from ...runs import NOW

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


def test_it_continues_an_actor_critic_and_leaves_its_q_head(make_sequences: Callable[..., Sequences]) -> None:
    network = ActorCritic(2, 3, (16,), torch.Generator().manual_seed(0))
    q_head, trunk = network.q_head.weight.detach().clone(), network.trunk[0].weight.detach().clone()
    for parameter in network.parameters():  # as ACER leaves them
        parameter.grad = torch.ones_like(parameter)
    one = learner(network)
    one.update(played(make_sequences, network), NOW)
    assert torch.equal(q_head, network.q_head.weight)
    assert not torch.equal(trunk, network.trunk[0].weight)


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
