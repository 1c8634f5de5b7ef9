"""Behaviour probabilities μ(·|s): how likely the player was to choose each action.

Importance weights divide by them. A person's are unknown; what stands in for them is a choice, and an episode says
which one was made (`probabilities_from`).
"""

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput

RECORDED = "recorded"
"""The player was a policy, and these are what it drew its actions with."""


def smoothed(actions: NDArray[np.integer], count: int, epsilon: float) -> NDArray[np.float32]:
    """float32 [T, count]: the action taken, with ε of the probability spread evenly over all actions, it included.

    `actions` int [T]. ε = 0 is refused: an importance weight would divide by the zero of every other action.
    """
    require_epsilon(epsilon)
    probabilities = np.full((len(actions), count), epsilon / count, dtype=np.float32)
    probabilities[np.arange(len(actions)), actions] = 1 - epsilon + epsilon / count
    return probabilities


def floored(probabilities: NDArray[np.float32], floor: float) -> NDArray[np.float32]:
    """(1 − A·floor)·π + floor, float32 [n, A]: still sums to 1, and no action has less than the floor."""
    mixed: NDArray[np.float32] = np.float32(1 - probabilities.shape[1] * floor) * probabilities + np.float32(floor)
    return mixed


def smoothed_name(epsilon: float) -> str:
    """What `probabilities_from` says of `smoothed` probabilities: 'smoothed(0.05)'."""
    return f"smoothed({epsilon:g})"


def require_epsilon(epsilon: float, name: str = "epsilon") -> None:
    """BadInput unless 0 < ε ≤ 1; `name` is the setting that it came from."""
    if not 0 < epsilon <= 1:
        raise BadInput(f"{name}={epsilon:g}: expected a number above 0 and at most 1, such as 0.05")
