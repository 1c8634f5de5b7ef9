"""Rewards along a recorded or simulated game.

    speed   r = 2·max(Δx, 0)
    shaped  r = max(Δx, 0) − w,  w = [y > 0]·y/5 + |Δy|/4 − [knee < −0.9]·knee/6
    race    r = Δmin(x, 1000)/10 + 10·[finished] − fall_penalty·[fell] − shaping·w/10 − push_penalty·max(Δh, 0)/10

Δ is over one decision; x and y are the torso's (units; y grows downwards, so y > 0 is low), knee is the smaller of the
two knees' angles (radians), both at the decision's end, and h is the x of the hurdle's base. `speed` and `shaped` are
the published ones; `shaped` is in the published recordings: it rewards progress and penalises a low torso, bobbing and
a sharply bent knee. `race` rewards metres up to the line (negative when backwards), 10 for a finish and −`fall_penalty`
for a fall (1 by default); through discounting, faster runs earn more. `shaping` is the weight of the penalties w in it,
and `push_penalty` the cost of each metre that the hurdle is pushed forward.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import native
from ..engine.batch import RACE, SHAPED, SPEED
from ..names import REWARDS

KINDS = dict(zip(REWARDS, (SPEED, SHAPED, RACE), strict=True))
"""The engine's number of each reward."""


def rewards_along(
    reward: str,
    torso_x: ArrayLike,
    torso_y: ArrayLike,
    knee: ArrayLike,
    hurdle: ArrayLike | None = None,
    *,
    shaping: float = 0.0,
    fall_penalty: float = 1.0,
    push_penalty: float = 0.0,
    outcome: str = "running",
) -> NDArray[np.float64]:
    """Return rewards float64 [T] from torso_x, torso_y, the smaller knee angle and the x of the hurdle's base at every
    decision, [T + 1] each.

    Only `race` uses the hurdle (None: it stands still), the penalties, and outcome, the game's after the last decision.
    Raises ValueError for columns of different lengths.
    """
    hurdle = np.zeros(np.shape(torso_x)) if hurdle is None else hurdle
    columns = [np.ascontiguousarray(column, dtype=np.float64) for column in (torso_x, torso_y, knee, hurdle)]
    if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
        raise ValueError(f"columns of shapes {[list(column.shape) for column in columns]}, expected [T + 1] each")
    out = np.empty(max(len(columns[0]) - 1, 0))
    finished, fell = outcome == "finished", outcome == "fell"
    weights = float(shaping), float(fall_penalty), float(push_penalty)
    x, y, bent, base = columns
    native.call("decision_rewards", KINDS[reward], *weights, x, y, bent, base, finished, fell, out)
    return out
