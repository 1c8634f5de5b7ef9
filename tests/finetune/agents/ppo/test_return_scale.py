"""A critic that learns in units of its returns: the update is that of smaller rewards."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from qwop.finetune.agents.ppo.learner import PpoLearner, ReturnScale
from qwop.finetune.agents.ppo.settings import PpoSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.policies.networks import Actor, ValuedActor, Values
from torch import nn

from ...runs import NOW

SCALED = PpoSettings(hidden=(16,), minibatch=10, epochs=2, target_kl=10.0, scale_returns=True)


def learner(settings: PpoSettings, shared: bool = False) -> PpoLearner:
    kind = ValuedActor if shared else Actor
    network = kind(2, 3, (16,), torch.Generator().manual_seed(0))
    values = None if shared else Values(2, settings.hidden, torch.Generator().manual_seed(1))
    return PpoLearner(network, values, settings, torch.device("cpu"), np.random.default_rng(0))


def head_of(one: PpoLearner) -> nn.Linear:
    if isinstance(one.network, ValuedActor):
        return one.network.value_head
    assert one.values is not None
    return one.values.head


def played(make_sequences: Callable[..., Sequences]) -> Sequences:
    one = make_sequences(6, steps=5)
    return replace(one, observations=one.observations / 1000)


def test_the_scale_is_the_root_mean_square_of_all_returns() -> None:
    head = nn.Linear(2, 1)
    scale = ReturnScale(head)
    with scale.learning_from(torch.zeros(4)) as targets:
        assert scale.sigma == 1.0
        assert targets.tolist() == [0.0] * 4
    weight = head.weight.detach().clone()
    with scale.learning_from(torch.tensor([2.0, -4.0, 0.0, 4.0])) as targets:
        assert scale.sigma == pytest.approx((36 / 8) ** 0.5)
        torch.testing.assert_close(targets, torch.tensor([2.0, -4.0, 0.0, 4.0]) / scale.sigma)
        torch.testing.assert_close(head.weight, weight / scale.sigma)
    torch.testing.assert_close(head.weight, weight)


@pytest.mark.parametrize("shared", [False, True])
def test_an_update_is_that_of_rewards_in_units_of_the_scale(
    shared: bool, make_sequences: Callable[..., Sequences]
) -> None:
    one, other = learner(SCALED, shared), learner(SCALED.with_(scale_returns=False), shared)
    batch = played(make_sequences)
    probe = learner(SCALED, shared)
    probe.update(batch, NOW)
    assert probe._return_scale is not None
    sigma = probe._return_scale.sigma
    assert sigma > 2
    with torch.no_grad():
        for part in head_of(other).parameters():
            part.div_(sigma)
    one.update(batch, NOW)
    other.update(replace(batch, rewards=batch.rewards / sigma), NOW)
    torch.testing.assert_close(head_of(one).weight, head_of(other).weight * sigma)
    torch.testing.assert_close(one.network.policy_head.weight, other.network.policy_head.weight)
