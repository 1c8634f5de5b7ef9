"""Decisions of episodes as rows to learn from."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..datasets.schema import Episode

NONE = -1
"""Value of `previous` in an episode's first decision."""


@dataclass(frozen=True)
class Rows:
    """N decisions: observations float32 [N, size] (flattened, unscaled), actions int64 [N], and previous int64 [N], the
    action before in the same episode."""

    observations: NDArray[np.float32]
    actions: NDArray[np.int64]
    previous: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.actions)


def rows_of(episodes: Iterable[Episode]) -> Rows:
    """All decisions of the episodes, in order; the last observation of an episode has no decision."""
    observations, actions, previous = [], [], []
    for episode in episodes:
        observations.append(episode.observations[:-1].reshape(len(episode), -1))
        actions.append(episode.actions.astype(np.int64))
        previous.append(np.concatenate([[NONE], actions[-1][:-1]]))
    return Rows(np.concatenate(observations), np.concatenate(actions), np.concatenate(previous))
