"""The published rewards, along a recorded or simulated game.

    speed   r = 2·max(Δx, 0)
    shaped  r = max(Δx, 0) − [y > 0]·y/5 − |Δy|/4 + [knee < −0.9]·knee/6

Δ is over one decision; x and y are the torso's (units; y grows downwards, so y > 0 is low), and knee is the smaller of
the two knees' angles (radians), both at the decision's end. `shaped` is the one in the published
recordings: it rewards progress and takes off for a low torso, for bobbing and for a knee bent hard.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .engine.rewards import SHAPED, SPEED, decision_rewards

REWARDS = {"speed": SPEED, "shaped": SHAPED}


def rewards_along(reward: str, torso_x: ArrayLike, torso_y: ArrayLike, knee: ArrayLike) -> NDArray[np.float64]:
    """float64 [T] from torso_x, torso_y and the smaller knee angle at every decision, [T + 1] each."""
    columns = [np.ascontiguousarray(column, dtype=np.float64) for column in (torso_x, torso_y, knee)]
    if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
        raise ValueError(
            f"columns of shapes {[list(column.shape) for column in columns]}, expected [T + 1] three times"
        )
    out = np.empty(max(len(columns[0]) - 1, 0))
    decision_rewards(REWARDS[reward], columns[0], columns[1], columns[2], out)
    return out
