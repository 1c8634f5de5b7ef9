"""Clones of a player who sees pictures."""

import numpy as np
import pytest
import torch
from qwop.datasets import DatasetInfo, Episode
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings

from .players import shown

PICTURES = ObservationSpec((36, 36), "uint8")
INFO = DatasetInfo(EnvironmentSpec("CartPole-v1"), PICTURES, 2)


def episode(number: int) -> Episode:
    """Forty decisions for the brighter half of the picture."""
    random = np.random.default_rng(number)
    pictures = random.integers(0, 128, size=(41, 36, 36)).astype(np.uint8)
    right = random.random(41) < 0.5
    pictures[right, :, 18:] += 100
    pictures[~right, :, :18] += 100
    actions = right[:-1].astype(np.int16)
    return shown(pictures, actions, f"game {number}")


@pytest.mark.parametrize(("convolutions", "features"), [("nature", [32, 64, 64]), ("nips", [16, 32])])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_player_of_pictures_is_cloned_by_the_convolutions_of_the_settings(
    convolutions: str, features: list[int], noise: float
) -> None:
    settings = CloningSettings(
        hidden=(16,), convolutions=convolutions, epochs=4, batch_size=32, dropout=0.0, input_noise=noise
    )
    policy = clone([episode(number) for number in range(8)], INFO, settings).policy
    layers = [one.out_channels for one in policy.network.modules() if isinstance(one, torch.nn.Conv2d)]
    assert layers == features
    unseen = episode(8)
    probabilities = policy.probabilities(unseen.observations[:-1])
    assert (probabilities.argmax(-1) == unseen.actions).mean() > 0.95
    assert probabilities.max(-1).mean() > 0.8  # as sure as it learned to be: it plays on the scale that it learned on
