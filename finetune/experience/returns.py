"""Discounted returns of episodes."""

import numpy as np
from numpy.typing import NDArray


def discounted_returns(rewards: NDArray[np.floating], gamma: float) -> NDArray[np.float64]:
    """G_t = r_t + γ·G_{t+1} at every step of an episode: float64 [T], from its rewards [T]."""
    returns = np.empty(len(rewards))
    following = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        returns[t] = following = float(rewards[t]) + gamma * following
    return returns
