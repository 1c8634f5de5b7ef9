"""Episodes as rows to learn from: what was seen, and what was done about it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..datasets.schema import Episode

NONE = -1
"""`previous` of an episode's first decision."""


@dataclass(frozen=True)
class Rows:
    """N decisions: observations float32 [N, size] (flattened, unscaled), the actions int64 [N] taken on them, and
    previous int64 [N], the actions before those in the same episode."""

    observations: NDArray[np.float32]
    actions: NDArray[np.int64]
    previous: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.actions)


def rows_of(episodes: Iterable[Episode]) -> Rows:
    """All decisions of the episodes, in order; the observation that ended an episode was not decided on."""
    observations, actions, previous = [], [], []
    for episode in episodes:
        observations.append(episode.observations[:-1].reshape(len(episode), -1))
        actions.append(episode.actions.astype(np.int64))
        previous.append(np.concatenate([[NONE], actions[-1][:-1]]))
    return Rows(np.concatenate(observations), np.concatenate(actions), np.concatenate(previous))
