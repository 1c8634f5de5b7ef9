"""Rows of numbers of a live game, one per frame, from which the page draws it; see `envs.pictures.frame_rows`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...envs.pictures.frame_rows import ROW
from ..live_game import LiveGame


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
