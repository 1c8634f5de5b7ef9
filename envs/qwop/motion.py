"""A runner's motion at every game frame, from a replay or from observations, and its strides."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common.errors import BadInput
from ..engine import layout as at
from ..names import BODIES, FEATURES

FRAME_SECONDS = 0.04
"""Time step of the physics, seconds of simulation per frame."""

START_X = 2.5
"""The torso's x at the start, units; observations hold x relative to the torso."""

SHORTEST, LONGEST = 8, 120
"""Frames that a stride may last."""

_COLUMN = {name: column for column, name in enumerate(FEATURES)}
_RUNNER = BODIES[: at.HURDLE_BASE]


@dataclass(frozen=True)
class Stride:
    """start: its first frame; length: frames; distance: units that the torso goes in it."""

    start: int
    length: int
    distance: float


def states_of_observations(observations: ArrayLike, frames: ArrayLike) -> NDArray[np.float64]:
    """Return the states at every frame, float64 [sum(frames) + 1, 14, 6], from observations [n, 71] at some frames.

    `frames`, int64 [n − 1], lie between two rows. Positions and angles in between are interpolated linearly; the
    torso's x, which observations lack, is integrated from its velocities (over N frames of even acceleration Δx =
    0.04·(N·(v + v′)/2 + (v′ − v)/2)). Angular velocities and the hurdle, also missing, are 0.
    """
    seen, lasted = np.asarray(observations, dtype=np.float64), np.asarray(frames, dtype=np.int64)
    rows = np.zeros((len(seen), len(BODIES), 6))
    for body, name in enumerate(_RUNNER):
        for column, number in enumerate(("position_x", "position_y", "angle", "velocity_x", "velocity_y")):
            rows[:, body, column] = seen[:, _COLUMN[f"{name}.{number}"]]
    speed = rows[:, at.TORSO, at.VX]
    moved = FRAME_SECONDS * (lasted * (speed[:-1] + speed[1:]) / 2 + (speed[1:] - speed[:-1]) / 2)
    rows[:, : at.HURDLE_BASE, at.X] += START_X + np.concatenate([[0.0], np.cumsum(moved)])[:, None]
    known = np.concatenate([[0], np.cumsum(lasted)])
    every = np.arange(known[-1] + 1)
    numbers = rows.reshape(len(rows), -1)
    return np.stack([np.interp(every, known, one) for one in numbers.T], axis=1).reshape(-1, len(BODIES), 6)


def feet_apart(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance by which the right foot leads the left one, float64 [n], units."""
    apart: NDArray[np.float64] = states[:, at.RIGHT_FOOT, at.X] - states[:, at.LEFT_FOOT, at.X]
    return apart


def lean(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the torso's forward lean from upright, float64 [n], radians."""
    leaning: NDArray[np.float64] = states[:, at.TORSO, at.ANGLE] + np.pi / 2
    return leaning


def steady_stride(states: NDArray[np.float64], between: Sequence[float]) -> Stride:
    """Return the most regular stride between two places of the track (units).

    It minimises the sum, in units, of two differences: between the feet's distance in it and in the next stride, and
    between its length and the average one there. It begins as the right foot passes the left one, and another stride
    follows it. BadInput without periodic motion.
    """
    x = states[:, at.TORSO, at.X]
    first, last = np.searchsorted(x, between).tolist()
    signal = feet_apart(states)[first:last]
    length = _period(signal)
    passing = np.flatnonzero((signal[:-1] < 0) & (signal[1:] >= 0))
    passing = passing[passing + 2 * length < len(signal)]
    if not len(passing):
        raise BadInput("no steady strides: the game has no stretch in which the feet repeat themselves")
    usual = (x[last - 1] - x[first]) / (last - 1 - first) * length
    misses = [
        np.abs(signal[i : i + length] - signal[i + length : i + 2 * length]).mean()
        + abs(x[first + i + length] - x[first + i] - usual)
        for i in passing
    ]
    start = first + int(passing[int(np.argmin(misses))])
    return Stride(start, length, float(x[start + length] - x[start]))


def _period(signal: NDArray[np.float64]) -> int:
    """Return a signal's period, frames: the first high peak of its autocorrelation."""
    if len(signal) < 2 * SHORTEST or np.ptp(signal) < 1e-6:
        raise BadInput("no steady strides: the game is too short for any")
    lags = range(SHORTEST, min(LONGEST, len(signal) // 2))
    alike = np.array([np.corrcoef(signal[:-lag], signal[lag:])[0, 1] for lag in lags])
    peaks = [i for i in range(1, len(alike) - 1) if alike[i - 1] < alike[i] >= alike[i + 1]]
    if not peaks or max(alike[i] for i in peaks) < 0.3:
        raise BadInput("no steady strides: the feet never repeat themselves")
    best = max(alike[i] for i in peaks)
    return lags[next(i for i in peaks if alike[i] > 0.8 * best)]
