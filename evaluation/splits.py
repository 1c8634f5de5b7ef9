"""Times along a run: seconds to given distances, and the fastest second."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..envs.names import BODIES, FRAMES_A_SECOND, SCORE, UNITS_A_METRE
from ..envs.pictures.video import seconds_from_first_key
from ..envs.qwop.replay import replay

MARKS = (10, 25, 50, 75)
"""Metres."""

_TORSO = BODIES.index("torso")


@dataclass(frozen=True)
class Splits:
    """Times along one run.

    seconds: from the first key to each of `MARKS`, None beyond the end of the run. top_speed: metres per second, over
    the fastest second; None for a shorter run.
    """

    seconds: tuple[float | None, ...]
    top_speed: float | None


def splits_of(keys: NDArray[np.uint8]) -> Splits:
    """Play these keys, uint8 [n], of every frame of a game again and take its times, to the frame."""
    game = replay(keys)
    return splits_along(game.events[1:, SCORE], game.states[1:, _TORSO, 0] / UNITS_A_METRE, keys)


def splits_along(score: NDArray[np.float64], metres: NDArray[np.float64], keys: NDArray[np.uint8]) -> Splits:
    """Take the times of a run by its score and its exact distance after every frame, metres float64 [frames]."""
    clock = seconds_from_first_key(keys)[1:]
    passed = [np.flatnonzero(score >= mark) for mark in MARKS]
    seconds = tuple(float(clock[frames[0]]) if len(frames) else None for frames in passed)
    gained = metres[FRAMES_A_SECOND:] - metres[:-FRAMES_A_SECOND]
    return Splits(seconds, float(gained.max()) if len(gained) else None)
