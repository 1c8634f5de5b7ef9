"""The 71 numbers of a `features` observation, for any states of the game."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .engine.features import FEATURES, observe_all


def observe(states: ArrayLike) -> NDArray[np.float32]:
    """Observations float32 [..., 71] of states [..., 14, 6] (as `replay` gives them), in the order of `names.FEATURES`.

    A body is its angle, velocity and position, x relative to the torso's; a joint is `angle_b - angle_a -
    reference_angle`. Radians, and units of the game (10 to a metre, y downwards).
    """
    table = np.asarray(states, dtype=np.float64)
    if table.shape[-2:] != (14, 6):
        raise ValueError(f"states of shape {list(table.shape)}, expected [..., 14, 6]")
    out = np.empty((*table.shape[:-2], FEATURES), dtype=np.float32)
    observe_all(np.ascontiguousarray(table.reshape(-1, 84)), out.reshape(-1, FEATURES))
    return out
