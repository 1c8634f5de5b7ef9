"""Means of a network's weights."""

import numpy as np
import pytest
import torch
from qwop.finetune.weight_average import RecentAverage, WeightAverage
from qwop.policies.networks import Actor


def filled(network: Actor, generator: torch.Generator) -> list[np.ndarray]:
    """Give the network other weights; returns them."""
    with torch.no_grad():
        for weights in network.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator) * 1e3)
    return weights_of(network)


def weights_of(network: Actor) -> list[np.ndarray]:
    return [weights.detach().numpy().copy() for weights in network.parameters()]


def test_the_network_gets_the_mean_of_what_was_counted_and_the_next_mean_starts_anew() -> None:
    network, generator = Actor(3, 2, (4,)), torch.Generator().manual_seed(0)
    average = WeightAverage(network)
    for count in (5, 2):
        seen = []
        for _ in range(count):
            seen.append(filled(network, generator))
            average.add()
        filled(network, generator)
        average.settle()
        for found, *counted in zip(weights_of(network), *seen, strict=True):
            np.testing.assert_array_equal(found, np.mean(np.float64(counted), axis=0).astype(np.float32))


def test_without_anything_counted_the_network_stays_as_it_is() -> None:
    network = Actor(3, 2, (4,))
    before = weights_of(network)
    WeightAverage(network).settle()
    for found, expected in zip(weights_of(network), before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_network_of_the_mean_so_far_leaves_the_trained_one_and_the_mean_alone() -> None:
    network, generator = Actor(3, 2, (4,)), torch.Generator().manual_seed(0)
    average = WeightAverage(network)
    assert average.network is network
    seen = []
    for _ in range(2):
        seen.append(filled(network, generator))
        average.add()
        for found, *counted in zip(weights_of(average.network), *seen, strict=True):
            np.testing.assert_array_equal(found, np.mean(np.float64(counted), axis=0).astype(np.float32))
        for found, expected in zip(weights_of(network), seen[-1], strict=True):
            np.testing.assert_array_equal(found, expected)


def test_statistics_that_scale_observations_are_not_averaged() -> None:
    network = Actor(3, 2, (4,))
    average = WeightAverage(network)
    for mean in (1.0, 3.0):
        network.scaler.take(np.full(3, mean), np.ones(3))
        average.add()
    average.settle()
    np.testing.assert_array_equal(network.scaler.mean, 3.0)


@pytest.mark.parametrize(("window", "last"), [(40, 10 / 40), (1000, 10 / 53), (0, 1)])
def test_a_recent_average_moves_by_the_share_of_its_window(window: int, last: float) -> None:
    network, generator = Actor(3, 2, (4,)), torch.Generator().manual_seed(0)
    average = RecentAverage(network, window)
    shares = {10: 1, 110: 1, 120: 10 / 12 if window else 1, 520: 1, 530: last}  # by the decisions so far
    before, expected = 0, [np.zeros(weights.shape) for weights in weights_of(network)]
    for decisions, share in shares.items():
        now = filled(network, generator)
        average.add(decisions - before)
        before = decisions
        expected = [old + share * (new - old) for old, new in zip(expected, now, strict=True)]
        for found, mean in zip(average.get_state()["weights"].values(), expected, strict=True):
            np.testing.assert_allclose(found.numpy(), mean, rtol=2e-6, atol=1e-3)
    for kept, learned in zip(weights_of(network), now, strict=True):
        np.testing.assert_array_equal(kept, learned)  # the network goes on from its own
