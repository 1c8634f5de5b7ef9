"""One game from the keys of every frame, every state kept."""

import numpy as np
from numpy.typing import NDArray

from . import layout as at
from .compiled import compiled, inlined
from .features import HIDDEN, hidden_of
from .game import advance
from .island import PLAYING, PLAYING_COUNT, PRESSED
from .lanes import ONE_LANE
from .world import workspace


def play_keys(
    reals: NDArray[np.float64],
    integers: NDArray[np.int32],
    keys: NDArray[np.uint8],
    lanes: tuple[int | float, ...] = ONE_LANE,
) -> NDArray[np.float64]:
    """Play a game (rows [1, REALS] and [1, INTEGERS]) with `keys` [n]: what it was from now on, frame by frame.

    float64 [m + 1, 93]: bodies, events and what they do not show (`features.hidden_of`); m < n if the game ended.
    """
    frames = np.empty((len(keys) + 1, at.EVENTS + 6 + HIDDEN))
    played = _play(lanes, reals, integers, keys, frames, *workspace(1))
    return frames[: played + 1]


@compiled
def _play(lanes, reals, integers, keys, frames, memory, work):
    work[0, PLAYING_COUNT] = 1
    work[0, PLAYING] = 0
    _keep(reals[0], frames[0])
    for frame in range(len(keys)):
        if reals[0, at.ENDED] != 0.0:
            return frame
        work[0, PRESSED] = keys[frame]
        advance(lanes, reals, integers, memory, work)
        _keep(reals[0], frames[frame + 1])
    return len(keys)


@inlined
def _keep(reals, frame):
    for place in range(at.EVENTS + 6):
        frame[place] = reals[place]
    hidden_of(reals, frame[at.EVENTS + 6 :])
