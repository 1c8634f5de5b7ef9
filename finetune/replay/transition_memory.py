"""Replay memories of transitions, sampled uniformly or by priority."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...envs.engine import native
from ...envs.spec import ObservationSpec
from ..experience.sequences import Transitions
from .memory import Memory

EPSILON = 1e-6
"""Added to the absolute error of every priority (stable-baselines' value)."""


@dataclass(frozen=True)
class Sample:
    """A batch: transitions, their importance weights float32 [B], and their slots int64 [B]."""

    transitions: Transitions
    weights: NDArray[np.float32]
    slots: NDArray[np.int64]


class TransitionMemory(Memory[Transitions]):
    """The newest `capacity` transitions, sampled uniformly.

    A million transitions of 84 × 84 × 4 take about 7 GB.
    """

    def __init__(self, capacity: int, observation: ObservationSpec) -> None:
        columns: dict[str, NDArray[Any]] = {
            "actions": np.zeros(capacity, dtype=np.int64),
            "rewards": np.zeros(capacity, dtype=np.float32),
            "discounts": np.zeros(capacity, dtype=np.float32),
            "source": np.zeros(capacity, dtype=np.int8),
        }
        # Observations before and after a transition are in one column, because they share frames.
        super().__init__(columns, 2, observation)

    def push(self, transitions: Transitions) -> NDArray[np.int64]:
        both = np.stack([transitions.observations, transitions.next_observations], axis=1)
        return super().push(replace(transitions, observations=both))

    def sample(self, n: int, beta: float, generator: np.random.Generator) -> Sample:
        """Sample n transitions uniformly from the whole memory, with replacement. beta is ignored; weights are 1."""
        slots = generator.integers(len(self), size=n)
        return Sample(self._read(slots), np.ones(n, dtype=np.float32), slots)

    def update(self, slots: NDArray[np.int64], errors: NDArray[np.float32]) -> None:
        """Set the priorities of a sample from its TD errors δ [B], if the memory has any."""

    def _read(self, slots: NDArray[np.int64]) -> Transitions:
        rows = self._rows(slots)
        both = rows.pop("observations")
        return Transitions(observations=both[:, 0], next_observations=both[:, 1], **rows)


def importance_weights(probabilities: NDArray[np.float64], size: int, beta: float) -> NDArray[np.float64]:
    """w_i = (N·P(i))^−β / max_j w_j over the batch: float64 [B], of P(i) [B] in a memory of N = size."""
    weights = (size * probabilities) ** -beta
    return np.asarray(weights / weights.max())


class PrioritisedMemory(TransitionMemory):
    """The newest `capacity` transitions, sampled in proportion to their priority (Schaul et al. 2016).

    P(i) = p_i^α / Σ p^α with p = |δ| + ε. The draws are independent; Schaul et al. draw one from each of equally large
    ranges. A new transition gets the largest priority seen so far (1 at first), so that it is soon sampled.
    """

    def __init__(self, capacity: int, observation: ObservationSpec, alpha: float) -> None:
        super().__init__(capacity, observation)
        self._alpha = alpha
        self._tree = SumTree(capacity)
        self._largest = 1.0

    def push(self, transitions: Transitions) -> NDArray[np.int64]:
        slots = super().push(transitions)
        self._tree.set(slots, np.full(len(slots), self._largest**self._alpha))
        return slots

    def sample(self, n: int, beta: float, generator: np.random.Generator) -> Sample:
        """Sample n transitions, each with probability P(i)."""
        total = self._tree.total
        slots = self._tree.find(generator.random(n) * total)
        weights = importance_weights(self._tree.get(slots) / total, len(self), beta)
        return Sample(self._read(slots), weights.astype(np.float32), slots)

    def update(self, slots: NDArray[np.int64], errors: NDArray[np.float32]) -> None:
        """Set the priorities of `slots` from the TD errors δ [B] of their sample, neither weighted nor clipped.

        Raises BadInput for errors that are not finite.
        """
        if not np.isfinite(errors).all():
            raise BadInput(
                "errors of Q that are not finite: training has diverged; lower the learning rate "
                "(algorithm.learning_rate) and start anew"
            )
        priorities = np.abs(errors.astype(np.float64)) + EPSILON
        self._largest = max(self._largest, float(priorities.max()))
        self._tree.set(slots, priorities**self._alpha)

    def clear(self) -> None:
        """Remove all transitions and reset the largest priority."""
        super().clear()
        self._largest = 1.0

    def get_state(self) -> dict[str, object]:
        return {**super().get_state(), "largest": self._largest}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._largest = float(state["largest"])

    def _state_of(self, slots: NDArray[np.int64]) -> dict[str, Any]:
        return {**super()._state_of(slots), "priorities": self._tree.get(slots)}

    def _refill(self, state: dict[str, Any], start: int = 0) -> NDArray[np.int64]:
        slots = super()._refill(state, start)
        self._tree.set(np.arange(self._capacity), np.zeros(self._capacity))
        self._tree.set(slots, np.asarray(state["priorities"]))
        return slots


class SumTree:
    """Values ≥ 0 of `capacity` slots; samples slots in proportion to them in O(log capacity) (Schaul et al. 2016).

    A binary tree in one array, with the root at 1 and the leaves from `width`, a power of two. Each node is recomputed
    as the sum of its children, in float64, so that rounding errors do not accumulate.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._width = 1 << (capacity - 1).bit_length()
        self._nodes = np.zeros(2 * self._width)

    @property
    def total(self) -> float:
        """The sum of all values."""
        return float(self._nodes[1])

    def get(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values of these slots."""
        return self._nodes[self._width + slots]

    def set(self, slots: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Set finite values ≥ 0; if a slot occurs twice, its last value is used."""
        native.call("set_leaves", self._nodes, self._width, slots, values)

    def find(self, masses: NDArray[np.float64]) -> NDArray[np.int64]:
        """Find for each mass m in [0, total) the slot i with Σ values before i ≤ m < Σ values up to i: int64 [n].

        A slot of value 0 is never found, unless all are 0.
        """
        slots = np.empty(len(masses), dtype=np.int64)
        native.call("find_leaves", self._nodes, self._width, masses, slots)
        return slots
