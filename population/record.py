"""Results of matches between agents, and the ratings fitted to them."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ratings import Ratings, fit_ratings


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
        """Fit the ratings of all agents; see `fit_ratings`."""
        pairs = list(zip(*np.nonzero(np.triu(self.matches)), strict=True))
        sides = np.zeros((len(pairs), len(self.matches)))
        for match, (row, column) in enumerate(pairs):
            sides[match, row], sides[match, column] = 1.0, -1.0
        counts = np.array([self.matches[pair] for pair in pairs])
        results = np.array([self.points[pair] / self.matches[pair] for pair in pairs])
        return fit_ratings(sides, np.clip(results, 0.0, 1.0), counts=counts, pinned=pinned)

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
