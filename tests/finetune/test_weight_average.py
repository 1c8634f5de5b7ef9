"""Means of a network's weights."""

import numpy as np
import pytest
import torch
from qwop.finetune.weight_average import RecentAverage, WeightAverage
from qwop.policies.networks import Actor

from .fakes import weights_of


def filled(network: Actor, generator: torch.Generator) -> torch.Tensor:
    """Give the network other weights; returns them."""
    with torch.no_grad():
        for weights in network.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator) * 1e3)
    return weights_of(network)


def test_a_mean_so_far_leaves_the_network_and_statistics_are_not_averaged() -> None:
    network, generator = Actor(3, 2, (4,)), torch.Generator().manual_seed(0)
    average = WeightAverage(network)
    for mean in (1.0, 3.0):
        network.scaler.take(np.full(3, mean), np.ones(3))
        last = filled(network, generator)
        average.add()
    so_far = weights_of(average.network)
    assert torch.equal(weights_of(network), last)
    average.settle()
    assert torch.equal(weights_of(network), so_far)
    assert not torch.equal(so_far, last)
    np.testing.assert_array_equal(network.scaler.mean, 3.0)


@pytest.mark.parametrize(("window", "last"), [(40, 10 / 40), (1000, 10 / 53), (0, 1)])
def test_a_recent_average_moves_by_the_share_of_its_window(window: int, last: float) -> None:
    network, generator = Actor(3, 2, (4,)), torch.Generator().manual_seed(0)
    average = RecentAverage(network, window)
    shares = {10: 1, 110: 1, 120: 10 / 12 if window else 1, 520: 1, 530: last}  # by the decisions so far
    before, expected = 0, torch.zeros(weights_of(network).shape, dtype=torch.float64)
    for decisions, share in shares.items():
        now = filled(network, generator)
        average.add(decisions - before)
        before, expected = decisions, expected + share * (now.double() - expected)
        found = torch.cat([one.flatten() for one in average.get_state()["weights"].values()])
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-3)
    assert torch.equal(weights_of(network), now)  # the network goes on from its own
