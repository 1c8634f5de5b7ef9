"""Results of matches, Elo ratings of agents fitted to them by maximum likelihood, and the next opponents."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

ANCHOR = 1000.0
"""Rating of the pinned agent, and mean of the prior."""

PRIOR = 350.0
"""Standard deviation of the prior in rating points; without a prior, an undefeated agent's rating would be
unbounded."""

SCALE = math.log(10) / 400

SPREAD = 1 / 6
"""Standard deviation σ of the win probability around ½ (Jaderberg et al. 2019)."""

_MOST_STEPS, _CLOSE = 100, 1e-9


def win_probability(lead: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the probability 1/(1 + 10^(−lead/400)) that the side with this lead in rating wins."""
    # tanh does not overflow.
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * SCALE * np.asarray(lead, dtype=np.float64))))


@dataclass(frozen=True)
class Ratings:
    """ratings and their standard errors, float64 [P]; the pinned agent has no error."""

    ratings: NDArray[np.float64]
    errors: NDArray[np.float64]


def opponent_probabilities(ratings: NDArray[np.float64], player: int) -> NDArray[np.float64]:
    """Return the probability of each agent, float64 [P], to be the player's opponent; 0 for the player itself.

    It is proportional to exp(−(P − ½)²/(2σ²)), where P is the probability that the player wins.
    """
    won = win_probability(ratings[player] - ratings)
    weights = np.exp(-((won - 0.5) ** 2) / (2 * SPREAD**2)) * (np.arange(len(ratings)) != player)
    probabilities: NDArray[np.float64] = weights / weights.sum()
    return probabilities


class Record:
    """Matches between n agents. Old matches fade, because agents change. matches: float64 [n, n], symmetric, faded
    number of matches of each pair. points: float64 [n, n], wins of the row's agent, with draws as ½.
    """

    def __init__(self, count: int) -> None:
        self.matches = np.zeros((count, count))
        self.points = np.zeros((count, count))

    def add(self, one: int, other: int, result: float, count: float = 1.0) -> None:
        """Add matches with this mean result for `one`. Matches of an agent against itself are ignored."""
        if one == other:
            return
        for row, column, points in ((one, other, result), (other, one, 1.0 - result)):
            self.matches[row, column] += count
            self.points[row, column] += points * count

    def fade(self, keep: float) -> None:
        """Multiply the weight of all matches by this factor."""
        self.matches *= keep
        self.points *= keep

    def inherit(self, child: int, parent: int) -> None:
        """Replace the child's record with that of its parent, whose weights it has copied."""
        for values in (self.matches, self.points):
            values[child, :] = values[parent, :]
            values[:, child] = values[:, parent]
            values[child, parent] = values[parent, child] = values[child, child] = 0.0

    def ratings(self, pinned: int | None = None) -> Ratings:
        """Fit ratings ψ to the matches: i wins against j with probability 1/(1 + 10^((ψ_j − ψ_i)/400)).

        pinned: an agent whose rating is `ANCHOR`. If none is, the errors are those of the distance from the mean
        rating, whose level only the prior determines.

        ψ maximises Σ_k c_k·(y_k·log P_k + (1 − y_k)·log(1 − P_k)) − Σ_i (ψ_i − ANCHOR)²/(2·PRIOR²) over the pairs k, of
        c_k matches with the mean result y_k, and over the agents i that are not pinned. It is concave; the errors are
        those of the Gaussian with the same curvature.
        """
        one, other = np.nonzero(np.triu(self.matches))
        c = self.matches[one, other]
        y = np.clip(self.points[one, other] / c, 0.0, 1.0)
        free = np.array([agent for agent in range(len(self.matches)) if agent != pinned], dtype=np.int64)
        every = np.eye(len(self.matches))
        m, precision, psi = (every[one] - every[other])[:, free], 1.0 / PRIOR**2, np.zeros(len(free))

        def log_posterior(psi: NDArray[np.float64]) -> float:
            strength = SCALE * (m @ psi)
            return float((c * (y * strength - np.logaddexp(0.0, strength))).sum() - 0.5 * precision * psi @ psi)

        for _ in range(_MOST_STEPS):
            won = win_probability(m @ psi)
            gradient = SCALE * (c * (y - won)) @ m - precision * psi
            curvature = (m.T * (SCALE**2 * c * won * (1.0 - won))) @ m + precision * np.eye(len(free))
            step = np.linalg.solve(curvature, gradient)
            size, now = 1.0, log_posterior(psi)
            while size > 1e-10 and log_posterior(psi + size * step) < now - 1e-12:  # Newton's step may be too long
                size /= 2
            psi = psi + size * step
            if np.abs(size * step).max(initial=0.0) < _CLOSE:
                break
        ratings, errors = np.full(len(self.matches), ANCHOR), np.zeros(len(self.matches))
        ratings[free] += psi
        covariance = np.linalg.inv(curvature)
        if pinned is None:
            centred = np.eye(len(free)) - 1.0 / len(free)
            covariance = centred @ covariance @ centred
        errors[free] = np.sqrt(np.diag(covariance))
        return Ratings(ratings, errors)

    def get_state(self) -> dict[str, object]:
        return {"matches": self.matches.copy(), "points": self.points.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        self.matches, self.points = (np.array(state[name], dtype=np.float64) for name in ("matches", "points"))


def compare_scores(scores: Iterable[NDArray[np.float64]], record: Record) -> None:
    """Add matches that compare the scores, float64 [games], of every pair of agents that play alone. Every game of one
    is compared with every game of the other; together they count as many matches as the smaller number of games.
    """
    for (one, mine), (other, theirs) in combinations(enumerate(scores), 2):
        if len(mine) and len(theirs):
            lead = mine[:, None] - theirs[None, :]
            record.add(one, other, float((np.sign(lead).mean() + 1) / 2), float(min(len(mine), len(theirs))))
