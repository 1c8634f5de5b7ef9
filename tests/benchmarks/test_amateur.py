"""The script of the amateur's games makes those that ship."""

import numpy as np
from qwop.datasets import open_dataset

from .scripts import load_script


def test_the_script_makes_the_games_that_ship() -> None:
    shipped = open_dataset("amateur")
    for episode, keys in zip(shipped, load_script("amateur").games(seed=1), strict=True):
        assert np.array_equal(episode.keys_of_frames, keys[: len(episode.keys_of_frames)])


def test_another_seed_makes_other_games() -> None:
    script = load_script("amateur")
    assert not np.array_equal(next(script.games(seed=1)), next(script.games(seed=2)))
