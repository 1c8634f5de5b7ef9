"""Running statistics of live play: when they move, and for whom."""

from collections.abc import Callable

import numpy as np
import torch
from qwop.finetune.agents.agent import RunningScale
from qwop.finetune.experience.sequences import Sequences
from qwop.policies.networks import Actor
from qwop.policies.scaling import ObservationScaler


def mean_of(network: Actor) -> np.ndarray:
    assert isinstance(network.scaler, ObservationScaler)
    return network.scaler.mean.numpy().copy()


def test_live_play_counts_before_the_first_update_and_after_later_ones(
    make_sequences: Callable[..., Sequences],
) -> None:
    network = Actor(2, 3, (8,), torch.Generator().manual_seed(0))
    scale = RunningScale(network)
    one, two = make_sequences(2), make_sequences(2, first=10)
    rows = [played.observations[:, :-1].reshape(-1, 2) for played in (one, two)]
    with scale.learning_from(one):
        np.testing.assert_allclose(mean_of(network), rows[0].mean(0), rtol=1e-5)
    np.testing.assert_allclose(mean_of(network), rows[0].mean(0), rtol=1e-5)
    with scale.learning_from(two):
        np.testing.assert_allclose(mean_of(network), rows[0].mean(0), rtol=1e-5)
    np.testing.assert_allclose(mean_of(network), np.concatenate(rows).mean(0), rtol=1e-5)


def test_statistics_that_a_network_came_with_stay(make_sequences: Callable[..., Sequences]) -> None:
    network = Actor(2, 3, (8,), torch.Generator().manual_seed(0))
    assert isinstance(network.scaler, ObservationScaler)
    network.scaler.fit(np.array([[1.0, 2.0], [3.0, 6.0]], dtype=np.float32))
    scale = RunningScale(network)
    for first in (0, 10):
        with scale.learning_from(make_sequences(2, first=first)):
            pass
    assert mean_of(network).tolist() == [2.0, 4.0]


def test_statistics_go_on_from_their_state(make_sequences: Callable[..., Sequences]) -> None:
    networks = [Actor(2, 3, (8,), torch.Generator().manual_seed(0)) for _ in range(2)]
    one, other = map(RunningScale, networks)
    with one.learning_from(make_sequences(2)):
        pass
    other.set_state(one.get_state())
    networks[1].load_state_dict(networks[0].state_dict())
    for scale in (one, other):
        with scale.learning_from(make_sequences(2, first=10)):
            pass
    np.testing.assert_array_equal(*map(mean_of, networks))
    rows = [make_sequences(2, first=first).observations[:, :-1].reshape(-1, 2) for first in (0, 10)]
    np.testing.assert_allclose(mean_of(networks[1]), np.concatenate(rows).mean(0), rtol=1e-5)
