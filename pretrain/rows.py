"""Decisions of episodes as rows to learn from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets.behaviour_probabilities import RECORDED
from ..datasets.schema import Episode

NONE = -1
"""Value of `previous` in an episode's first decision."""


@dataclass(frozen=True)
class Rows:
    """N decisions: observations float32 or uint8 [N, size] (flattened, unscaled), actions int64 [N], and previous int64
    [N], the action before in the same episode.

    probabilities: float32 [N, A], those that the player drew its actions from; None where no recording has them.
    """

    observations: NDArray[Any]
    actions: NDArray[np.int64]
    previous: NDArray[np.int64]
    probabilities: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Rows":
        """The decisions with these numbers."""
        probabilities = None if self.probabilities is None else self.probabilities[chosen]
        return Rows(self.observations[chosen], self.actions[chosen], self.previous[chosen], probabilities)


def rows_of(episodes: Iterable[Episode], *, observations: bool = True) -> Rows:
    """All decisions of the episodes, in order; the last observation of an episode has no decision.

    Takes one episode at a time, so that a dataset larger than half of the memory fits. Without `observations`, theirs
    are empty: float32 [N, 0]. The decisions have probabilities if every player was a policy whose exact ones were
    recorded, and if some player drew its actions: a greedy policy's add nothing to the actions.
    """
    seen, actions, previous, recorded = _Column(), _Column(), _Column(), _Column()
    exact, drawn = True, False
    for episode in episodes:
        rows = episode.observations[:-1].reshape(len(episode), -1)
        seen.add(rows if observations else np.empty((len(episode), 0), np.float32))
        taken = episode.actions.astype(np.int64)
        actions.add(taken)
        previous.add(np.concatenate([[NONE], taken[:-1]]))
        exact = exact and episode.probabilities_from == RECORDED
        if exact:
            recorded.add(episode.behaviour_probabilities)
            drawn = drawn or bool((episode.behaviour_probabilities.max(axis=1) < 1).any())
    probabilities = recorded.rows() if exact and drawn else None
    return Rows(seen.rows(), actions.rows(), previous.rows(), probabilities)


class _Column:
    """An array that grows by rows. Where the system can, it moves pages rather than copy them."""

    def __init__(self) -> None:
        self._array: NDArray[Any] | None = None
        self._count = 0

    def add(self, rows: NDArray[Any]) -> None:
        if self._array is None:
            self._array = np.empty((len(rows), *rows.shape[1:]), rows.dtype)
        end = self._count + len(rows)
        if end > len(self._array):
            self._array.resize((max(end, len(self._array) * 3 // 2), *rows.shape[1:]), refcheck=False)
        self._array[self._count : end] = rows
        self._count = end

    def rows(self) -> NDArray[Any]:
        if self._array is None:
            raise ValueError("no episode")
        self._array.resize((self._count, *self._array.shape[1:]), refcheck=False)
        return self._array
