"""Datasets replayed in memory for another task."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.behaviour_probabilities import RECORDED
from qwop.datasets.embedded import embedded_dataset
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.relabelled_dataset import can_be_relabelled, with_task

from ..fakes import dataset_of, game_of

QW, OP, NONE = 9, 6, 0
"""Keys of the rhythm that people try first: Q with P, W with O."""


@pytest.fixture
def games(tmp_path: Path) -> Dataset:
    """Three games of a person, who waits 5, 6 and 7 frames before the first key, at 10 decisions a second."""
    info = qwop_info(frames_per_step=3, reward="shaped")
    rhythm = [QW, QW, QW, QW, OP, OP, OP] * 6
    return dataset_of(tmp_path / "me", info, *(game_of([NONE] * wait + rhythm, info) for wait in (5, 6, 7)))


def test_games_have_the_decision_rate_and_observations_asked_for(games: Dataset) -> None:
    made = with_task(games, 1, "contact")
    assert made.info.environment.settings["frames_per_step"] == 1
    assert made[0].observations.shape[1] == 112
    assert made[0].keys_of_frames.tolist() == games[0].keys_of_frames.tolist()
    assert made.lengths().tolist() == [len(episode) for episode in made] == [42, 42, 42]
    assert len(made.select([1, 2])) == 2


def test_a_persons_decisions_begin_with_the_first_key(games: Dataset) -> None:
    for rate in (1, 3):
        for episode in with_task(games, rate, "features"):
            assert episode.actions[0] == games[0].actions[2]
            assert episode.keys is not None
            assert (episode.keys[0][:5] == NONE).all()


def test_a_policys_games_stay_as_they_are_at_their_own_rate() -> None:
    embedded = open_dataset(embedded_dataset()).select([0])
    assert not embedded.played_by_people
    assert with_task(embedded, 1, "contact") is embedded
    fewer = with_task(embedded, 1, "full")[0]
    assert np.array_equal(fewer.actions, embedded[0].actions)
    assert np.array_equal(fewer.behaviour_probabilities, embedded[0].behaviour_probabilities)


def test_a_dataset_may_hold_games_of_a_policy_or_without_keys(tmp_path: Path, games: Dataset) -> None:
    assert games.played_by_people
    assert not dataset_of(tmp_path / "both", games.info, games[0], replace(games[1], mu_kind=RECORDED)).played_by_people
    keyless = dataset_of(tmp_path / "keyless", games.info, replace(games[0], keys=None))
    assert not can_be_relabelled(keyless)
    with pytest.raises(BadInput, match="has no keys"):
        with_task(keyless, 1, "contact")[0]
