"""Likeness to the player of the demonstrations."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.reports.likeness import Player
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

CARTPOLE = EnvironmentSpec("CartPole-v1")


def policy(logits: tuple[float, float]) -> Policy:
    """A policy with these logits in every state."""
    network = ActorCritic(4, 2, (16,), torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.policy_head.weight.zero_()
        network.policy_head.bias.copy_(torch.tensor(logits))
    return Policy(network, CARTPOLE, ObservationSpec((4,)))


def test_likeness_is_measured_in_the_states_and_actions_of_the_player(
    tmp_path: Path, make_episode: Callable[..., Episode]
) -> None:
    writer = DatasetWriter(tmp_path / "demos", DatasetInfo(CARTPOLE, ObservationSpec((4,)), 2))
    for length in (30, 10):
        writer.write(make_episode(length, actions=2, shape=(4,)))
    dataset = open_dataset(tmp_path / "demos")
    taken = np.concatenate([episode.actions for episode in dataset])
    ones = taken.mean()
    player = Player(dataset)
    assert player.name.startswith("2 games of ")
    found = player.likeness(policy((0.0, float(np.log(3)))))  # 1 with a probability of 3/4
    assert found["player_actions"] == pytest.approx(ones)
    assert found["player_nats"] == pytest.approx(-(ones * np.log(0.75) + (1 - ones) * np.log(0.25)))
    assert found["player_time"] == pytest.approx(1 - abs(0.75 - ones))
