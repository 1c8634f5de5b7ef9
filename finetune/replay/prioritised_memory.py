"""Prioritised replay (Schaul et al. 2016): transitions sampled in proportion to their absolute TD error."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...envs.spec import ObservationSpec
from ..experience.transitions import Transitions
from .sum_tree import SumTree
from .transition_memory import Sample, TransitionMemory

EPSILON = 1e-6
"""Added to the absolute error of every priority (stable-baselines' value)."""


def importance_weights(probabilities: NDArray[np.float64], size: int, beta: float) -> NDArray[np.float64]:
    """w_i = (N·P(i))^−β / max_j w_j over the batch: float64 [B], of P(i) [B] in a memory of N = size."""
    weights = (size * probabilities) ** -beta
    return np.asarray(weights / weights.max())


class PrioritisedMemory(TransitionMemory):
    """The newest `capacity` transitions, sampled in proportion to priority; one source can be removed in a single call.

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

    def check_valid(self) -> None:
        super().check_valid()
        self._tree.check_valid()
        assert np.array_equal(self._tree.values > 0, np.arange(self._ring.capacity) < len(self))

    def get_state(self) -> dict[str, object]:
        return {**super().get_state(), "largest": self._largest}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._largest = float(state["largest"])

    def _state_of(self, slots: NDArray[np.int64]) -> dict[str, Any]:
        return {**super()._state_of(slots), "priorities": self._tree.get(slots)}

    def _refill(self, state: dict[str, Any], start: int = 0) -> NDArray[np.int64]:
        slots = super()._refill(state, start)
        self._tree.set(np.arange(self._ring.capacity), np.zeros(self._ring.capacity))
        self._tree.set(slots, np.asarray(state["priorities"]))
        return slots
