"""Decisions of episodes as rows to learn from, and by how much a person was late with them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..datasets.behaviour_probabilities import RECORDED
from ..datasets.control import POLICY, corrected
from ..datasets.reader import Dataset
from ..datasets.schema import Episode
from ..envs.spec import Observations

NONE = -1
"""Value of `previous` in an episode's first decision."""


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

    def __getitem__(self, numbers: NDArray[np.int64]) -> "Rows":
        """The decisions with these numbers."""
        probabilities = None if self.probabilities is None else self.probabilities[numbers]
        weights = None if self.weights is None else self.weights[numbers]
        return Rows(self.observations[numbers], self.actions[numbers], self.previous[numbers], probabilities, weights)


def some(episodes: Sequence[Episode], indices: Sequence[int]) -> Sequence[Episode]:
    """Some of the episodes. Those of a dataset are read only when they are used, and not kept."""
    return episodes.select(indices) if isinstance(episodes, Dataset) else [episodes[index] for index in indices]


def rows_of(
    episodes: Sequence[Episode], *, observations: bool = True, policy: float = 1.0, person: float = 1.0, lag: int = 0
) -> Rows:
    """All decisions of the episodes, in order; the last observation of an episode has no decision.

    Of shared control, a branch's own decisions alone, with the weights `policy` and `person` by who acted, and
    probabilities: the policy's, and 1 for a person's action. Decisions of weight 0 are left out. lag: decisions by
    which a person is late, whose actions go with the observations so much earlier.

    Memory is taken once, for as many decisions as the episodes have, and they are read one at a time, so that a dataset
    larger than half of the memory fits. Without `observations`, theirs are empty: float32 [N, 0]. The decisions have
    probabilities if every player was a policy whose exact ones were recorded, and if some player drew its actions: a
    greedy policy's add nothing to the actions.
    """
    total = int(episodes.lengths().sum()) if isinstance(episodes, Dataset) else sum(map(len, episodes))
    states: Observations | None = None
    actions, previous = np.empty(total, np.int64), np.empty(total, np.int64)
    weighed, recorded = np.empty(total, np.float32), np.empty((0, 0), np.float32)
    exact, chance, shared, end = True, False, False, 0
    for episode in episodes:
        weights = weights_of(episode, policy, person)
        late = lag * of_person(episode) if lag else np.zeros(len(episode), dtype=np.int64)
        numbers = np.flatnonzero((weights > 0) & (late <= np.arange(len(episode))))
        rows = episode.observations[:-1].reshape(len(episode), -1)
        if states is None:
            states = np.empty((total, rows.shape[1]) if observations else (total, 0), rows.dtype)
            recorded = np.empty((total, episode.behaviour_probabilities.shape[1]), np.float32)
        at = slice(end, end + len(numbers))
        end += len(numbers)
        if observations:
            states[at] = rows[numbers - late[numbers]]
        choices = episode.actions.astype(np.int64)
        actions[at], previous[at] = choices[numbers], np.append(NONE, choices[:-1])[numbers]
        weighed[at], recorded[at] = weights[numbers], targets(episode)[numbers]
        shared = shared or episode.actors is not None
        exact = exact and (episode.mu_kind == RECORDED or episode.actors is not None)
        chance = chance or bool((episode.behaviour_probabilities.max(axis=1) < 1).any())
    assert states is not None
    probabilities = recorded[:end] if (exact and chance) or shared else None
    return Rows(states[:end], actions[:end], previous[:end], probabilities, weighed[:end] if shared else None)


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


LONGEST_SECONDS = 0.5
"""Longest reaction time that is looked for."""

LEAST = 1e-4
"""Probability that an action has at least, so that a few odd ones do not decide."""


def of_person(episode: Episode) -> NDArray[np.bool_]:
    """The decisions that a person made and that are to be learned, bool [T]."""
    if episode.actors is None and episode.mu_kind == RECORDED:
        return np.zeros(len(episode), dtype=np.bool_)
    mine = corrected(episode)
    mine[: episode.first_own] = False
    return mine


def reaction(
    episodes: Iterable[Episode], probabilities: Callable[[Observations], NDArray[np.float32]], longest: int
) -> int:
    """The number of decisions, 0 to `longest`, by which the person is late: that with the greatest likelihood

        Σ_t ln π(a_t | s_{t − lag})

    of the person's actions under a policy π, which plays the same game without being late. 0 without a person, and for
    a policy that explains the actions worse than chance at every lag: it plays another way, and knows nothing of them.
    """
    nats = np.zeros(longest + 1)
    chance = 0.0
    for episode in episodes:
        rows = np.flatnonzero(of_person(episode))
        rows = rows[rows >= longest]  # the same actions for every lag
        if not len(rows):
            continue
        for lag in range(longest + 1):
            likelihoods = probabilities(episode.observations[rows - lag])[np.arange(len(rows)), episode.actions[rows]]
            nats[lag] += np.log(np.maximum(likelihoods, LEAST), dtype=np.float64).sum()
        chance -= len(rows) * float(np.log(episode.behaviour_probabilities.shape[1]))
    return int(nats.argmax()) if nats.max() > chance else 0
