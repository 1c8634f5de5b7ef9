"""A recorded game, played again from its keys."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common.errors import BadInput
from ..engine import new_games, play_keys
from ..engine.layout import EVENTS


@dataclass(frozen=True)
class Replay:
    """A game frame by frame; frame 0 is the state after the reset.

    `states`: float64 [n + 1, 14, 6], x, y, angle, vx, vy, angular velocity of `names.BODIES`, in the game's units.
    `events`: float64 [n + 1, 6], `names.EVENT_COLUMNS`. `hidden`: float64 [n + 1, 3], `names.HIDDEN_COLUMNS`; None
    where a page did not tell.
    """

    states: NDArray[np.float64]
    events: NDArray[np.float64]
    hidden: NDArray[np.float64] | None = None


def replay(keys: ArrayLike, reset: str = "a") -> Replay:
    """Play `keys`, uint8 [n], the keys down in each frame (Q = 1, W = 2, O = 4, P = 8). Stops with the game."""
    pressed = np.asarray(keys)
    if pressed.ndim != 1 or (pressed.size and (pressed.min() < 0 or pressed.max() > 15)):
        raise BadInput(f"keys: expected one row of numbers from 0 to 15, found an array of shape {pressed.shape}")
    frames = play_keys(*new_games(1, reset), pressed.astype(np.uint8))
    states, events, hidden = np.split(frames, (EVENTS, EVENTS + 6), axis=1)
    return Replay(states.reshape(-1, 14, 6).copy(), events.copy(), hidden.copy())
