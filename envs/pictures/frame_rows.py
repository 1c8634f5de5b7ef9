"""Rows of numbers, one per game frame, from which a page draws a game."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..names import BODIES, SCORE
from ..qwop.session import Replay, replay
from .video import seconds_from_first_key

POSE = 3 * len(BODIES)
"""Numbers of a pose: x, y and angle of every body."""

ROW = POSE + 3
"""Numbers of a row: the pose, the score in metres, the seconds since the first key, and the keys held."""


def rows_of_game(keys: ArrayLike) -> NDArray[np.float32]:
    """Replay a game from the keys of its frames, uint8 [n]; return the rows of all frames, float32 [n + 1, ROW]."""
    return rows_of_replay(replay(keys), keys)


def rows_of_replay(game: Replay, keys: ArrayLike) -> NDArray[np.float32]:
    """The rows of a game that was played with these keys, uint8 [≥ n]; float32 [n + 1, ROW]."""
    count = len(game.states)
    column = np.concatenate([[0], np.asarray(keys)])[:count]
    figures = np.stack([game.events[:, SCORE], seconds_from_first_key(keys)[:count], column], axis=1)
    return rows_of_states(game.states, figures)


def rows_of_states(states: NDArray[np.float64], figures: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rows of states [n, 14, 6] with figures [n, 3]: metres, seconds and keys; float32 [n, ROW]."""
    return np.concatenate([states[:, :, :3].reshape(len(states), POSE), figures], axis=1).astype("<f4")
