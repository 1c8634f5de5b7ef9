"""A runner's motion at every game frame, from a replay or from observations."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import layout as at
from ..names import BODIES, FEATURES

FRAME_SECONDS = 0.04
"""Time step of the physics, seconds of simulation per frame."""

START_X = 2.5
"""The torso's x at the start, units; observations hold x relative to the torso."""

_COLUMN = {name: column for column, name in enumerate(FEATURES)}
_RUNNER = BODIES[: at.HURDLE_BASE]


def states_of_observations(observations: ArrayLike, frames: ArrayLike) -> NDArray[np.float64]:
    """Return the states at every frame, float64 [sum(frames) + 1, 14, 6], from observations [n, 71] at some frames.

    `frames`, int64 [n − 1], lie between two rows. Positions and angles in between are interpolated linearly; the
    torso's x, which observations lack, is integrated from its velocities (over N frames of even acceleration Δx =
    0.04·(N·(v + v′)/2 + (v′ − v)/2)). Angular velocities and the hurdle, also missing, are 0.
    """
    observed, durations = np.asarray(observations, dtype=np.float64), np.asarray(frames, dtype=np.int64)
    rows = np.zeros((len(observed), len(BODIES), 6))
    for body, name in enumerate(_RUNNER):
        for column, number in enumerate(("position_x", "position_y", "angle", "velocity_x", "velocity_y")):
            rows[:, body, column] = observed[:, _COLUMN[f"{name}.{number}"]]
    speed = rows[:, at.TORSO, at.VX]
    moved = FRAME_SECONDS * (durations * (speed[:-1] + speed[1:]) / 2 + (speed[1:] - speed[:-1]) / 2)
    rows[:, : at.HURDLE_BASE, at.X] += START_X + np.concatenate([[0.0], np.cumsum(moved)])[:, None]
    frames_observed = np.concatenate([[0], np.cumsum(durations)])
    every = np.arange(frames_observed[-1] + 1)
    numbers = rows.reshape(len(rows), -1)
    return np.stack([np.interp(every, frames_observed, one) for one in numbers.T], axis=1).reshape(-1, len(BODIES), 6)
