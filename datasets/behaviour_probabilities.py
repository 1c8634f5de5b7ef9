"""Behaviour probabilities μ(·|s): the distribution that the player drew each action from.

Importance weights divide by them. A person's are unknown and have to be estimated; each episode names its estimate
(`Episode.mu_kind`).
"""

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput

RECORDED, SMOOTHED, CLONED, MIXED = "recorded", "smoothed", "cloned", "mixed"
"""Names of μ: exact, since the player was a policy that drew its actions with them; `smoothed`; those of a clone of the
player; in shared control recorded where the policy acted, and smoothed where the person did."""


def smoothed(actions: NDArray[np.integer], count: int, epsilon: float) -> NDArray[np.float32]:
    """Probability 1 − ε for the action taken, plus ε spread evenly over all actions; float32 [T, count].

    `actions` int [T]. Raises BadInput for ε = 0, because importance weights would divide by zero.
    """
    if not 0 < epsilon <= 1:
        raise BadInput(f"epsilon={epsilon:g}: expected a number above 0 and at most 1, such as 0.05")
    probabilities = np.full((len(actions), count), epsilon / count, dtype=np.float32)
    probabilities[np.arange(len(actions)), actions] = 1 - epsilon + epsilon / count
    return probabilities


def floored(probabilities: NDArray[np.float32], floor: float) -> NDArray[np.float32]:
    """(1 − A·floor)·π + floor, float32 [n, A]: still sums to 1, and no action is less probable than `floor`."""
    mixed: NDArray[np.float32] = np.float32(1 - probabilities.shape[1] * floor) * probabilities + np.float32(floor)
    return mixed
