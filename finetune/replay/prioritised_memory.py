"""Prioritised replay (Schaul et al. 2016): a ring of transitions, drawn in proportion to how much they surprised."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import ObservationSpec
from ..experience.sequences import DEMONSTRATIONS, SOURCES
from ..experience.transitions import Transitions
from .sum_tree import SumTree


@dataclass(frozen=True)
class PrioritySettings:
    """Of P(i) = p_i^α / Σ p^α with p = |δ| + ε: alpha α, epsilon ε; bonus is added to p of demonstrations (ε_demo of
    DQfD, where it is 1 with the rewards there). α and ε are those of stable-baselines."""

    alpha: float = 0.6
    epsilon: float = 1e-6
    bonus: float = 0.0


@dataclass(frozen=True)
class Sample:
    """A batch: transitions, their importance weights float32 [B], and the places int64 [B] that they lie in."""

    transitions: Transitions
    weights: NDArray[np.float32]
    places: NDArray[np.int64]


def importance_weights(probabilities: NDArray[np.float64], size: int, beta: float) -> NDArray[np.float64]:
    """w_i = (N·P(i))^−β / max w, the largest of those given: float64 [B] of P(i) [B] in a memory of N = size."""
    weights = (size * probabilities) ** -beta
    return np.asarray(weights / weights.max())


class PrioritisedMemory:
    """The newest `capacity` transitions; a source can be removed at once.

    A new transition has the largest priority that any has had (1 at first), so that it is soon drawn. Transitions lie
    in places 0 … size − 1, the oldest at `start` (0 until the ring is full).
    """

    def __init__(self, capacity: int, observation: ObservationSpec, settings: PrioritySettings) -> None:
        if capacity < 1:
            raise ValueError(f"capacity {capacity}, expected at least 1")
        self.capacity = capacity
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
        self._size = 0
        self._start = 0

    def __len__(self) -> int:
        return self._size

    def push(self, transitions: Transitions) -> None:
        """Store them, in their order, each in place of the oldest once the memory is full."""
        n = len(transitions)
        if n > self.capacity:
            raise ValueError(f"{n} transitions at once into a memory of {self.capacity}")
        places = (self._start + self._size + np.arange(n)) % self.capacity
        self._write(places, transitions)
        self._tree.set(places, np.full(n, self._largest**self._settings.alpha))
        evicted = max(0, self._size + n - self.capacity)
        self._start = (self._start + evicted) % self.capacity
        self._size += n - evicted

    def sample(self, n: int, beta: float, generator: np.random.Generator) -> Sample:
        """n transitions, each drawn with P(i) from the whole memory."""
        if not self._size:
            raise ValueError("nothing to sample: the memory is empty")
        total = self._tree.total
        places = self._tree.find(generator.random(n) * total)
        weights = importance_weights(self._tree.get(places) / total, self._size, beta)
        return Sample(self._stored[places], weights.astype(np.float32), places)

    def update(self, places: NDArray[np.int64], errors: NDArray[np.float32]) -> None:
        """New priorities from the errors δ [B] (neither weighted nor clipped) of what was sampled from `places`."""
        shown = self._stored.source[places] == DEMONSTRATIONS
        priorities = np.abs(errors.astype(np.float64)) + self._settings.epsilon + self._settings.bonus * shown
        self._largest = max(self._largest, float(priorities.max()))
        self._tree.set(places, priorities**self._settings.alpha)

    def contents(self) -> Transitions:
        """Everything stored, oldest first."""
        return self._stored[self._places_by_age()]

    def remove(self, source: int) -> int:
        """Drop every transition of this source, now; returns how many there were. The others keep their priorities."""
        by_age = self._places_by_age()
        kept = by_age[self._stored.source[by_age] != source]
        self._fill(self._stored[kept], self._tree.get(kept))
        return len(by_age) - len(kept)

    def clear(self) -> None:
        """Drop everything, and the memory of the largest priority."""
        none = np.zeros(0, dtype=np.int64)
        self._fill(self._stored[none], np.zeros(0))
        self._largest = 1.0

    def shares(self) -> dict[str, float]:
        """The share of the stored transitions that each source has; 0 everywhere when nothing is stored."""
        counts = np.bincount(self._stored.source[: self._size], minlength=len(SOURCES))
        return {name: float(count) / max(self._size, 1) for name, count in zip(SOURCES, counts, strict=True)}

    def check_valid(self) -> None:
        """The structure agrees with itself."""
        assert 0 <= self._size <= self.capacity
        assert self._start == 0 or self._size == self.capacity
        self._tree.check_valid()
        assert np.array_equal(self._tree.values > 0, np.arange(self.capacity) < self._size)

    def get_state(self) -> dict[str, Any]:
        """What `set_state` of a memory of the same shape needs; arrays are copies, oldest first."""
        by_age = self._places_by_age()
        stored = self._stored[by_age]
        arrays = {one.name: getattr(stored, one.name) for one in fields(stored)}
        return {
            "arrays": arrays,
            "priorities": self._tree.get(by_age),
            "largest": self._largest,
            "start": self._start,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Put back what `get_state` gave, every transition in its place."""
        start = int(state["start"])
        self._fill(Transitions(**state["arrays"]), np.asarray(state["priorities"]), start)
        self._largest = float(state["largest"])

    def _fill(self, transitions: Transitions, values: NDArray[np.float64], start: int = 0) -> None:
        """Hold these and nothing else, with these values in the tree, the oldest at `start`."""
        self._tree.set(np.arange(self.capacity), np.zeros(self.capacity))
        places = (start + np.arange(len(transitions))) % self.capacity
        self._write(places, transitions)
        self._tree.set(places, values)
        self._start, self._size = start, len(transitions)

    def _write(self, places: NDArray[np.int64], transitions: Transitions) -> None:
        for one in fields(transitions):
            getattr(self._stored, one.name)[places] = getattr(transitions, one.name)

    def _places_by_age(self) -> NDArray[np.int64]:
        return (self._start + np.arange(self._size)) % self.capacity
