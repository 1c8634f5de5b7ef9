"""Matchmaking: agents meet opponents that they beat about half of the time."""

import numpy as np
from numpy.typing import NDArray

from .ratings import win_probability

SPREAD = 1 / 6
"""Standard deviation σ of the win probability around ½ (Jaderberg et al. 2019)."""


def match_weights(lead: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return exp(−(P − ½)²/(2σ²)), P being the probability that the side with this lead in rating wins."""
    return np.asarray(np.exp(-((win_probability(lead) - 0.5) ** 2) / (2 * SPREAD**2)))


def opponent_probabilities(
    ratings: NDArray[np.float64], player: int, able: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return the probability of each agent, float64 [P], to be the player's opponent; 0 for the player itself.

    able: those that can meet the player, bool [P]; None: all others.
    """
    weights = match_weights(ratings[player] - ratings)
    weights[player] = 0.0
    if able is not None:
        weights[~able] = 0.0
    total = weights.sum()
    if total == 0.0:
        raise ValueError(f"{len(ratings)} agents: expected at least one that can meet agent {player}")
    probabilities: NDArray[np.float64] = weights / total
    return probabilities
