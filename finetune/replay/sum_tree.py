"""Sum tree for prioritised replay."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.engine import native

_KEPT = 4096
"""Slots of a call that is kept for the next one, at most: a batch, not a whole memory."""


class SumTree:
    """Values ≥ 0 of `capacity` slots; samples slots in proportion to them in O(log capacity) (Schaul et al. 2016).

    A binary tree in one array, with the root at 1 and the leaves from `width`, a power of two. Each node is recomputed
    as the sum of its children, in float64, so that rounding errors do not accumulate.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._width = 1 << (capacity - 1).bit_length()
        self._nodes = np.zeros(2 * self._width)
        self._calls: dict[tuple[str, int], tuple[native.Call, list[NDArray[Any]]]] = {}
        """Kernels' calls by their names and the numbers of slots or masses, with arrays for these."""

    @property
    def total(self) -> float:
        """The sum of all values."""
        return float(self._nodes[1])

    def get(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values of these slots."""
        return self._nodes[self._width + slots]

    def set(self, slots: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Set finite values ≥ 0; if a slot occurs twice, its last value is used."""
        call, (mine, numbers) = self._bound("set_leaves", len(slots), np.int64, np.float64)
        mine[:], numbers[:] = slots, values
        call()

    def find(self, masses: NDArray[np.float64]) -> NDArray[np.int64]:
        """Find for each mass m in [0, total) the slot i with Σ values before i ≤ m < Σ values up to i: int64 [n].

        A slot of value 0 is never found, unless all are 0.
        """
        call, (numbers, slots) = self._bound("find_leaves", len(masses), np.float64, np.int64)
        numbers[:] = masses
        call()
        return slots.copy()

    def _bound(self, name: str, count: int, *kinds: type) -> tuple[native.Call, list[NDArray[Any]]]:
        bound = self._calls.get((name, count))
        if bound is None:
            arrays: list[NDArray[Any]] = [np.empty(count, dtype=kind) for kind in kinds]
            bound = native.bind(name, self._nodes, self._width, *arrays), arrays
            if count <= _KEPT:
                self._calls[name, count] = bound
        return bound
