"""Clones of a player who sees pictures, and of one who corrected few games."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, Episode, open_dataset
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.networks import Actor, Values
from qwop.policies.policy import Policy
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


def test_a_policy_is_continued_with_its_values_and_without_dropout_and_noise(
    make_dataset: Callable[[int], Path],
) -> None:
    dataset, generator = open_dataset(make_dataset(3)), torch.Generator().manual_seed(0)
    start = Policy(
        Actor(4, 2, (8,), generator),
        dataset.info.environment,
        dataset.info.observation,
        values=Values(4, (8,), generator),
    )
    made = clone(dataset, dataset.info, CloningSettings(epochs=1), start=start).policy
    assert made.values is start.values
    assert (made.training["cloning"]["dropout"], made.training["cloning"]["input_noise"]) == (0.0, 0.0)
    assert not torch.equal(made.network.policy_head.weight, start.network.policy_head.weight)


def test_what_nobody_corrected_is_in_no_part_of_a_clone_of_the_person() -> None:
    settings = CloningSettings(hidden=(8,), epochs=1, policy_weight=0.0)
    info = INFO

    def game(number: int, person: int) -> Episode:
        actors = np.repeat([0, person], 20).astype(np.int8)
        own = episode(number)
        return replace(own, actors=actors, policy_probabilities=own.behaviour_probabilities)

    games = [game(number, int(number in (1, 5))) for number in range(8)]
    assert clone(games, info, settings).policy.training["cloned_from"]["decisions"] == 40
    with pytest.raises(BadInput, match="no decision to clone; record more"):
        clone([game(number, 0) for number in range(3)], info, settings)
