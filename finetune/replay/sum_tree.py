"""Sum tree for prioritised replay."""

import numpy as np
from numpy.typing import NDArray

from ..kernels import kernel


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

    @property
    def values(self) -> NDArray[np.float64]:
        """A copy of all values, float64 [capacity]."""
        return self._nodes[self._width : self._width + self.capacity].copy()

    def get(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values of these slots."""
        return self._nodes[self._width + slots]

    def set(self, slots: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Set finite values ≥ 0; if a slot occurs twice, its last value is used."""
        _set(self._nodes, self._width, slots, values)

    def find(self, masses: NDArray[np.float64]) -> NDArray[np.int64]:
        """Find for each mass m in [0, total) the slot i with Σ values before i ≤ m < Σ values up to i: int64 [n].

        A slot of value 0 is never found, unless all are 0.
        """
        return np.asarray(_find(self._nodes, self._width, masses))

    def check_valid(self) -> None:
        """Assert that every node is the sum of its children."""
        inner = self._nodes[1 : self._width]
        assert np.array_equal(inner, self._nodes[2::2] + self._nodes[3::2])
        assert not self._nodes[self._width + self.capacity :].any()


@kernel
def _set(nodes, width, slots, values):  # type: ignore[no-untyped-def]
    for i in range(len(slots)):
        node = width + slots[i]
        nodes[node] = values[i]
        node >>= 1
        while node:
            nodes[node] = nodes[2 * node] + nodes[2 * node + 1]
            node >>= 1


@kernel
def _find(nodes, width, masses):  # type: ignore[no-untyped-def]
    found = np.empty(len(masses), dtype=np.int64)
    for i in range(len(masses)):
        mass = masses[i]
        node = 1
        while node < width:
            left = nodes[2 * node]
            # Through rounding, some mass can remain although the right child is 0.
            if mass < left or nodes[2 * node + 1] == 0.0:
                node = 2 * node
            else:
                mass -= left
                node = 2 * node + 1
        found[i] = node - width
    return found
