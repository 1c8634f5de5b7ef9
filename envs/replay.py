"""A recorded game, played again from its keys."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..conf.errors import BadInput
from .engine import SCRATCH, advance, compiled, new_games
from .engine.features import HIDDEN, hidden_of
from .engine.layout import ENDED, EVENTS


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
    reals, integers = new_games(1, reset)
    frames = np.empty((len(pressed) + 1, EVENTS + 6))
    hidden = np.empty((len(pressed) + 1, HIDDEN))
    played = _play(reals[0], integers[0], pressed.astype(np.uint8), frames, hidden)
    states = frames[: played + 1, :EVENTS].reshape(-1, 14, 6)
    return Replay(states.copy(), frames[: played + 1, EVENTS:].copy(), hidden[: played + 1].copy())


@compiled
def _play(reals, integers, keys, frames, hidden):
    scratch = np.empty(SCRATCH)
    frames[0] = reals[: EVENTS + 6]
    hidden_of(reals, hidden[0])
    for frame in range(len(keys)):
        if reals[ENDED] != 0.0:
            return frame
        advance(reals, integers, keys[frame], scratch)
        frames[frame + 1] = reals[: EVENTS + 6]
        hidden_of(reals, hidden[frame + 1])
    return len(keys)
