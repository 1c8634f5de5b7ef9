"""Decisions of episodes as rows to learn from."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..datasets.behaviour_probabilities import RECORDED
from ..datasets.schema import Episode

NONE = -1
"""Value of `previous` in an episode's first decision."""


@dataclass(frozen=True)
class Rows:
    """N decisions: observations float32 [N, size] (flattened, unscaled), actions int64 [N], and previous int64 [N], the
    action before in the same episode.

    probabilities: float32 [N, A], those that the player drew its actions from; None where no recording has them.
    """

    observations: NDArray[np.float32]
    actions: NDArray[np.int64]
    previous: NDArray[np.int64]
    probabilities: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Rows":
        """The decisions with these numbers."""
        probabilities = None if self.probabilities is None else self.probabilities[chosen]
        return Rows(self.observations[chosen], self.actions[chosen], self.previous[chosen], probabilities)


def rows_of(episodes: Iterable[Episode]) -> Rows:
    """All decisions of the episodes, in order; the last observation of an episode has no decision.

    The decisions have probabilities if every player was a policy whose exact ones were recorded, and if some player
    drew its actions: those of a greedy policy say no more than the actions do.
    """
    kept = list(episodes)
    observations, actions, previous = [], [], []
    for episode in kept:
        observations.append(episode.observations[:-1].reshape(len(episode), -1))
        actions.append(episode.actions.astype(np.int64))
        previous.append(np.concatenate([[NONE], actions[-1][:-1]]))
    probabilities = None
    if all(episode.probabilities_from == RECORDED for episode in kept):
        recorded = np.concatenate([episode.behaviour_probabilities for episode in kept])
        probabilities = recorded if (recorded.max(axis=1) < 1).any() else None
    return Rows(np.concatenate(observations), np.concatenate(actions), np.concatenate(previous), probabilities)
