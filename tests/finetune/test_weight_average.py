"""Means of a network's weights."""

import numpy as np
import pytest
import torch
from qwop.finetune.weight_average import WeightAverage, add_recent, new_average
from qwop.policies.networks import Actor

from .fakes import weights_of


def filled(network: Actor, generator: torch.Generator) -> torch.Tensor:
    """Give the network other weights and statistics of observations; returns the weights."""
    with torch.no_grad():
        for weights in network.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator) * 1e3)
    network.scaler.take(np.full(3, float(weights_of(network)[0])), np.ones(3))
    return weights_of(network)


@pytest.mark.parametrize(("window", "last"), [(40, 10 / 40), (1000, 10 / 53), (0, 1)])
def test_a_recent_average_moves_by_the_share_of_its_window_and_a_mean_counts_all_alike(
    window: int, last: float
) -> None:
    network, generator = Actor(3, 2, (4,)), torch.Generator().manual_seed(0)
    recent, mean = new_average(network), WeightAverage(network)
    shares = {10: 1, 110: 1, 120: 10 / 12 if window else 1, 520: 1, 530: last}  # by the decisions so far
    every, before, expected = [], 0, torch.zeros(weights_of(network).shape, dtype=torch.float64)
    for decisions, share in shares.items():
        every.append(now := filled(network, generator))
        add_recent(recent, network, decisions - before, window)
        mean.add()
        before, expected = decisions, expected + share * (now.double() - expected)
        found = torch.cat([one.flatten() for one in recent["weights"].values()])
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-3)
    so_far = weights_of(mean.network)
    assert torch.equal(weights_of(network), now)  # the network goes on from its own
    torch.testing.assert_close(so_far, torch.stack(every).double().mean(0).float())
    mean.settle()
    assert torch.equal(weights_of(network), so_far)
    np.testing.assert_array_equal(network.scaler.mean, now[0])  # statistics are not averaged
