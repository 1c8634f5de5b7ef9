"""Rows of numbers, one per game frame, from which the page draws a game."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...envs.names import BODIES, EVENT_COLUMNS
from ...envs.pictures.video import seconds_from_first_key
from ...envs.qwop.replay import replay
from ..live_game import LiveGame

POSE = 3 * len(BODIES)
"""Numbers of a pose: x, y and angle of every body."""

ROW = POSE + 3
"""Numbers of a row: the pose, the score in metres, the seconds since the first key, and the keys held."""

_SCORE = EVENT_COLUMNS.index("score")


def row_of(game: LiveGame) -> NDArray[np.float32]:
    """The current frame of a live game, float32 [ROW]."""
    return np.concatenate([game.state[:, :3].ravel(), [game.metres, game.seconds, game.last_keys]]).astype("<f4")


def advanced(game: LiveGame, keys: Sequence[int]) -> NDArray[np.float32]:
    """Play a frame with each of these keys until the game is over; return their rows, float32 [frames, ROW]."""
    rows = []
    for held in keys:
        if game.over:
            break
        game.advance(held)
        rows.append(row_of(game))
    return np.stack(rows) if rows else np.empty((0, ROW), dtype="<f4")


def rows_of_game(keys: ArrayLike) -> NDArray[np.float32]:
    """Replay a game from the keys of its frames, uint8 [n]; return the rows of all frames, float32 [n + 1, ROW]."""
    game = replay(keys)
    count = len(game.states)
    held = np.concatenate([[0], np.asarray(keys)])[:count]
    figures = np.stack([game.events[:, _SCORE], seconds_from_first_key(keys)[:count], held], axis=1)
    return np.concatenate([game.states[:, :, :3].reshape(count, POSE), figures], axis=1).astype("<f4")
