"""Decisions of episodes as rows to learn from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..datasets.behaviour_probabilities import RECORDED
from ..datasets.control import POLICY, corrected
from ..datasets.schema import Episode
from ..envs.spec import Observations
from .reaction import of_person

NONE = -1
"""Value of `previous` in an episode's first decision."""

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True)
class Rows:
    """N decisions: observations float32 or uint8 [N, size] (flattened, unscaled), actions int64 [N], and previous int64
    [N], the action before in the same episode.

    probabilities: float32 [N, A], those that the player drew its actions from; None where no recording has them.
    weights: float32 [N], of each decision in the loss; None: all the same.
    """

    observations: Observations
    actions: NDArray[np.int64]
    previous: NDArray[np.int64]
    probabilities: NDArray[np.float32] | None = None
    weights: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Rows":
        """The decisions with these numbers."""
        probabilities = None if self.probabilities is None else self.probabilities[chosen]
        weights = None if self.weights is None else self.weights[chosen]
        return Rows(self.observations[chosen], self.actions[chosen], self.previous[chosen], probabilities, weights)


def rows_of(
    episodes: Iterable[Episode], *, observations: bool = True, policy: float = 1.0, person: float = 1.0, lag: int = 0
) -> Rows:
    """All decisions of the episodes, in order; the last observation of an episode has no decision.

    Of shared control, a branch's own decisions alone, with the weights `policy` and `person` by who acted, and
    probabilities: the policy's, and 1 for a person's action. Decisions of weight 0 are left out. lag: decisions by
    which a person is late, whose actions go with the observations so much earlier.

    Takes one episode at a time, so that a dataset larger than half of the memory fits. Without `observations`, theirs
    are empty: float32 [N, 0]. The decisions have probabilities if every player was a policy whose exact ones were
    recorded, and if some player drew its actions: a greedy policy's add nothing to the actions.
    """
    seen = _Column[np.float32 | np.uint8]()
    actions, previous = _Column[np.int64](), _Column[np.int64]()
    recorded, weighed = _Column[np.float32](), _Column[np.float32]()
    exact, drawn, shared = True, False, False
    for episode in episodes:
        weights = weights_of(episode, policy, person)
        late = lag * of_person(episode) if lag else np.zeros(len(episode), dtype=np.int64)
        chosen = np.flatnonzero((weights > 0) & (late <= np.arange(len(episode))))
        rows = episode.observations[:-1].reshape(len(episode), -1)[chosen - late[chosen]]
        seen.add(rows if observations else np.empty((len(chosen), 0), np.float32))
        taken = episode.actions.astype(np.int64)
        actions.add(taken[chosen])
        previous.add(np.concatenate([[NONE], taken[:-1]])[chosen])
        weighed.add(weights[chosen])
        recorded.add(targets(episode)[chosen])
        shared = shared or episode.actors is not None
        exact = exact and (episode.mu_kind == RECORDED or episode.actors is not None)
        drawn = drawn or bool((episode.behaviour_probabilities.max(axis=1) < 1).any())
    probabilities = recorded.rows() if (exact and drawn) or shared else None
    return Rows(seen.rows(), actions.rows(), previous.rows(), probabilities, weighed.rows() if shared else None)


def targets(episode: Episode) -> NDArray[np.float32]:
    """Probabilities to imitate, float32 [T, A]: the exact ones of a policy, and 1 for the action that a person took."""
    if episode.mu_kind == RECORDED:
        return episode.behaviour_probabilities
    ones: NDArray[np.float32] = np.eye(episode.behaviour_probabilities.shape[1], dtype=np.float32)[episode.actions]
    if episode.actors is None:
        return ones
    return np.where((episode.actors == POLICY)[:, None], episode.behaviour_probabilities, ones)


def weights_of(episode: Episode, policy: float, person: float) -> NDArray[np.float32]:
    """Weight of each decision, float32 [T]: 0 for those that another episode has, and where a person only let go."""
    if episode.actors is None:
        return np.full(len(episode), 1.0, dtype=np.float32)
    weights = np.where(episode.actors == POLICY, policy, person * corrected(episode)).astype(np.float32)
    weights[: episode.first_own] = 0.0
    return weights


class _Column(Generic[Number]):
    """An array that grows by rows. If the system can, it moves pages rather than copy them."""

    def __init__(self) -> None:
        self._array: NDArray[Number] | None = None
        self._count = 0

    def add(self, rows: NDArray[Number]) -> None:
        if self._array is None:
            self._array = np.empty((len(rows), *rows.shape[1:]), rows.dtype)
        end = self._count + len(rows)
        if end > len(self._array):
            self._array.resize((max(end, len(self._array) * 3 // 2), *rows.shape[1:]), refcheck=False)
        self._array[self._count : end] = rows
        self._count = end

    def rows(self) -> NDArray[Number]:
        if self._array is None:
            raise ValueError("no episode")
        self._array.resize((self._count, *self._array.shape[1:]), refcheck=False)
        return self._array
