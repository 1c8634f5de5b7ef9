"""Prioritised replay (Schaul et al. 2016): transitions sampled in proportion to the size of their TD error."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import ObservationSpec
from ..experience.sequences import DEMONSTRATIONS, source_shares
from ..experience.transitions import Transitions
from .ring import Ring
from .sum_tree import SumTree


@dataclass(frozen=True)
class PrioritySettings:
    """Settings of P(i) = p_i^α / Σ p^α with p = |δ| + ε; alpha α and epsilon ε are those of stable-baselines.

    bonus is added to the p of demonstrations (ε_demo of DQfD, where it is 1 with the rewards used there).
    """

    alpha: float = 0.6
    epsilon: float = 1e-6
    bonus: float = 0.0


@dataclass(frozen=True)
class Sample:
    """A batch: transitions, their importance weights float32 [B], and their slots int64 [B]."""

    transitions: Transitions
    weights: NDArray[np.float32]
    slots: NDArray[np.int64]


def importance_weights(probabilities: NDArray[np.float64], size: int, beta: float) -> NDArray[np.float64]:
    """w_i = (N·P(i))^−β / max_j w_j over the batch: float64 [B], of P(i) [B] in a memory of N = size."""
    weights = (size * probabilities) ** -beta
    return np.asarray(weights / weights.max())


class PrioritisedMemory:
    """The newest `capacity` transitions; a source can be removed at once.

    A new transition gets the largest priority seen so far (1 at first), so that it is soon sampled.
    """

    def __init__(self, capacity: int, observation: ObservationSpec, settings: PrioritySettings) -> None:
        self._ring = Ring(capacity)
        self._settings = settings
        self._stored = Transitions(
            observations=observation.zeros(capacity),
            actions=np.zeros(capacity, dtype=np.int64),
            rewards=np.zeros(capacity, dtype=np.float32),
            discounts=np.zeros(capacity, dtype=np.float32),
            next_observations=observation.zeros(capacity),
            source=np.zeros(capacity, dtype=np.int8),
        )
        self._tree = SumTree(capacity)
        self._largest = 1.0

    def __len__(self) -> int:
        return self._ring.size

    def push(self, transitions: Transitions) -> None:
        """Store them, in their order, each in place of the oldest once the memory is full."""
        slots = self._ring.push(len(transitions))
        self._write(slots, transitions)
        self._tree.set(slots, np.full(len(slots), self._largest**self._settings.alpha))

    def sample(self, n: int, beta: float, generator: np.random.Generator) -> Sample:
        """n transitions, each drawn with P(i) from the whole memory."""
        if not len(self):
            raise ValueError("nothing to sample: the memory is empty")
        total = self._tree.total
        slots = self._tree.find(generator.random(n) * total)
        weights = importance_weights(self._tree.get(slots) / total, len(self), beta)
        return Sample(self._stored[slots], weights.astype(np.float32), slots)

    def update(self, slots: NDArray[np.int64], errors: NDArray[np.float32]) -> None:
        """Set new priorities from the errors δ [B], neither weighted nor clipped, of the sample from `slots`."""
        demonstrated = self._stored.source[slots] == DEMONSTRATIONS
        priorities = np.abs(errors.astype(np.float64)) + self._settings.epsilon + self._settings.bonus * demonstrated
        self._largest = max(self._largest, float(priorities.max()))
        self._tree.set(slots, priorities**self._settings.alpha)

    def contents(self) -> Transitions:
        """Everything stored, oldest first."""
        return self._stored[self._ring.by_age()]

    def remove(self, source: int) -> int:
        """Drop every transition of this source, now; returns how many there were. The others keep their priorities."""
        by_age = self._ring.by_age()
        kept = by_age[self._stored.source[by_age] != source]
        self._fill(self._stored[kept], self._tree.get(kept))
        return len(by_age) - len(kept)

    def clear(self) -> None:
        """Drop everything, the largest priority too."""
        none = np.zeros(0, dtype=np.int64)
        self._fill(self._stored[none], np.zeros(0))
        self._largest = 1.0

    def shares(self) -> dict[str, float]:
        """The share of the stored transitions that each source has; 0 everywhere when nothing is stored."""
        return source_shares(self._stored.source[: len(self)])

    def check_valid(self) -> None:
        """Assert that the structure agrees with itself."""
        self._ring.check_valid()
        self._tree.check_valid()
        assert np.array_equal(self._tree.values > 0, np.arange(self._ring.capacity) < len(self))

    def get_state(self) -> dict[str, Any]:
        """The state for `set_state` of a memory of the same shape; arrays are copies, oldest first."""
        by_age = self._ring.by_age()
        stored = self._stored[by_age]
        return {
            "arrays": {one.name: getattr(stored, one.name) for one in fields(stored)},
            "priorities": self._tree.get(by_age),
            "largest": self._largest,
            "start": self._ring.start,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `get_state` gave, every transition in its slot."""
        self._fill(Transitions(**state["arrays"]), np.asarray(state["priorities"]), int(state["start"]))
        self._largest = float(state["largest"])

    def _fill(self, transitions: Transitions, values: NDArray[np.float64], start: int = 0) -> None:
        """Hold these and nothing else, with these values in the tree, the oldest at `start`."""
        self._tree.set(np.arange(self._ring.capacity), np.zeros(self._ring.capacity))
        slots = self._ring.refill(len(transitions), start)
        self._write(slots, transitions)
        self._tree.set(slots, values)

    def _write(self, slots: NDArray[np.int64], transitions: Transitions) -> None:
        for one in fields(transitions):
            getattr(self._stored, one.name)[slots] = getattr(transitions, one.name)
