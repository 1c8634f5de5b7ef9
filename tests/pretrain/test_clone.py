"""Clones: the pass that they are of, pictures, corrections, and what d3rlpy cannot do."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, Episode, open_dataset
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.networks import Actor, ActorCritic, Values
from qwop.policies.policy import Policy
from qwop.pretrain import d3rlpy_backend
from qwop.pretrain.clone import Epoch, clone, train_with_early_stopping
from qwop.pretrain.rows import Rows
from qwop.pretrain.settings import CloningSettings

from ..fakes import episode_of

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
    return episode_of(pictures, actions, source=f"game {number}")


@pytest.mark.parametrize(("convolutions", "features"), [("nature", [32, 64, 64]), ("nips", [16, 32])])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_player_of_pictures_is_cloned_by_the_convolutions_of_the_settings(
    convolutions: str, features: list[int], noise: float
) -> None:
    settings = CloningSettings(
        hidden=(16,), convolutions=convolutions, epochs=4, batch_size=32, dropout=0.0, input_noise=noise
    )
    policy = clone([episode(number) for number in range(8)], INFO, settings)
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
    made = clone(dataset, dataset.info, CloningSettings(epochs=1), start=start)
    assert made.values is start.values
    assert (made.training["cloning"]["dropout"], made.training["cloning"]["input_noise"]) == (0.0, 0.0)
    assert not torch.equal(made.network.policy_head.weight, start.network.policy_head.weight)


def test_what_nobody_corrected_is_in_no_part_of_a_clone_of_the_person() -> None:
    settings = CloningSettings(hidden=(8,), epochs=1, policy_weight=0.0)

    def game(number: int, person: int) -> Episode:
        actors = np.repeat([0, person], 20).astype(np.int8)
        own = episode(number)
        return replace(own, actors=actors, policy_probabilities=own.behaviour_probabilities)

    games = [game(number, int(number in (1, 5))) for number in range(8)]
    assert clone(games, INFO, settings).training["cloned_from"]["decisions"] == 40
    with pytest.raises(BadInput, match="no decision to clone; record more"):
        clone([game(number, 0) for number in range(3)], INFO, settings)


VALIDATION = Rows(np.zeros((4, 1), dtype=np.float32), np.zeros(4, dtype=np.int64), np.full(4, -1))


def train(biases: list[float], patience: int, validation: Rows = VALIDATION) -> tuple[Policy, list[Epoch]]:
    """Passes after which action 0 has the logit of `biases`, action 1 its negative; action 0 is always right."""
    policy = Policy(ActorCritic(1, 2, (2,)), EnvironmentSpec("CartPole-v1"), ObservationSpec((1,)))
    torch.nn.init.zeros_(policy.network.policy_head.weight)

    def passes() -> Iterator[float]:
        for bias in biases:
            with torch.no_grad():
                policy.network.policy_head.bias.copy_(torch.tensor([bias, -bias]))
            yield 0.0

    reported: list[Epoch] = []
    best = train_with_early_stopping(policy, passes(), validation, patience, lambda epoch, _: reported.append(epoch))
    assert best == min(epoch.validation_nats for epoch in reported)
    return policy, reported


def test_the_policy_of_the_best_pass_remains_and_patience_ends_the_passes() -> None:
    policy, done = train([0.0, 2.0, 1.0, 0.5], patience=9)
    assert policy.network.policy_head.bias.tolist() == [2.0, -2.0]
    assert [epoch.is_best for epoch in done] == [True, True, False, False]
    assert [epoch.number for epoch in done] == [1, 2, 3, 4]
    # Likelihood decides, not accuracy.
    policy, done = train([0.1, 0.2], patience=9)
    assert [epoch.validation_accuracy for epoch in done] == [1.0, 1.0]
    assert policy.network.policy_head.bias[0].item() == torch.tensor(0.2).item()
    policy, done = train([0.0, 1.0, 0.9, 0.8, 3.0], patience=2)
    assert len(done) == 4
    assert policy.network.policy_head.bias.tolist() == [1.0, -1.0]


def test_the_players_own_probabilities_decide_where_they_are_known() -> None:
    mu = np.tile(np.float32([0.6, 0.4]), (4, 1))  # of which action 0 was drawn each time
    policy, done = train([0.0, 0.2, 2.0], patience=9, validation=replace(VALIDATION, probabilities=mu))
    assert policy.network.policy_head.bias[0].item() == torch.tensor(0.2).item()
    p = 1 / (1 + math.exp(-0.4))
    assert done[1].validation_nats == pytest.approx(-0.6 * math.log(p) - 0.4 * math.log(1 - p), abs=1e-6)


def test_decisions_of_different_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(d3rlpy_backend, "require_d3rlpy", lambda settings: None)
    weights = np.array([1.0, 0.5], dtype=np.float32)
    rows = Rows(np.zeros((2, 4), np.float32), np.zeros(2, np.int64), np.zeros(2, np.int64), None, weights)
    with pytest.raises(BadInput, match="policy_weight, person_weight: DiscreteBC weighs all decisions alike"):
        next(d3rlpy_backend.d3rlpy_epochs(Actor(4, 3, (8,)), rows, CloningSettings(), seed=0))
