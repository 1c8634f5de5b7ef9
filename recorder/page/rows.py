"""What the page needs to draw a moment of a game, as one row of numbers."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...envs.names import BODIES, EVENT_COLUMNS
from ...envs.pictures.video import seconds_from_first_key
from ...envs.qwop.replay import replay

POSE = 3 * len(BODIES)
"""x, y and angle of every body."""

ROW = POSE + 3
"""A pose, then the score in metres, the seconds since the first key, and the keys that are down."""

_SCORE = EVENT_COLUMNS.index("score")


def row_of(state: NDArray[np.float64], metres: float, seconds: float, keys: int) -> NDArray[np.float32]:
    """One row, float32 [ROW], of a state [14, 6]."""
    return np.concatenate([state[:, :3].ravel(), [metres, seconds, keys]]).astype("<f4")


def rows_of_game(keys: ArrayLike) -> NDArray[np.float32]:
    """Every moment of a game, float32 [n + 1, ROW], from the keys of its frames, uint8 [n]."""
    game = replay(keys)
    count = len(game.states)
    pressed = np.concatenate([[0], np.asarray(keys)])[:count]
    told = np.stack([game.events[:, _SCORE], seconds_from_first_key(keys)[:count], pressed], axis=1)
    return np.concatenate([game.states[:, :, :3].reshape(count, POSE), told], axis=1).astype("<f4")
