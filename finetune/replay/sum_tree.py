"""The sum tree of prioritised replay."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


class SumTree:
    """Values ≥ 0 of `capacity` places, drawn from in proportion to them in O(log capacity) (Schaul et al. 2016).

    A binary tree in one array, the root at 1, the leaves from `width` on (a power of two). A node is always computed
    anew as the sum of its children, in float64, so that nothing drifts.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity {capacity}, expected at least 1")
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

    def get(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values of these places."""
        return self._nodes[self._width + places]

    def set(self, places: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Give places new values; the last one counts where a place is named twice."""
        places = np.asarray(places, dtype=np.int64)
        values = np.broadcast_to(np.asarray(values, dtype=np.float64), places.shape)
        if len(places) and (places.min() < 0 or places.max() >= self.capacity):
            raise IndexError(f"places from {places.min()} to {places.max()} in a tree of {self.capacity}")
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ValueError("values of a sum tree are finite and at least 0")
        _set(self._nodes, self._width, places, values)

    def find(self, masses: NDArray[np.float64]) -> NDArray[np.int64]:
        """For each mass m in [0, total): the place i with Σ values before i ≤ m < Σ values up to i; int64 [n].

        A place of value 0 is never found.
        """
        if not self.total > 0:
            raise ValueError("nothing to find: every value is 0")
        return np.asarray(_find(self._nodes, self._width, np.asarray(masses, dtype=np.float64)))

    def check_valid(self) -> None:
        """Every node is the sum of its children."""
        inner = self._nodes[1 : self._width]
        assert np.array_equal(inner, self._nodes[2::2] + self._nodes[3::2])
        assert not self._nodes[self._width + self.capacity :].any()


@njit(cache=True, nogil=True)
def _set(nodes, width, places, values):  # type: ignore[no-untyped-def]
    for i in range(len(places)):
        node = width + places[i]
        nodes[node] = values[i]
        node >>= 1
        while node:
            nodes[node] = nodes[2 * node] + nodes[2 * node + 1]
            node >>= 1


@njit(cache=True, nogil=True)
def _find(nodes, width, masses):  # type: ignore[no-untyped-def]
    found = np.empty(len(masses), dtype=np.int64)
    for i in range(len(masses)):
        mass = masses[i]
        node = 1
        while node < width:
            left = nodes[2 * node]
            # Rounding can leave a mass that no value on the right is there for.
            if mass < left or nodes[2 * node + 1] == 0.0:
                node = 2 * node
            else:
                mass -= left
                node = 2 * node + 1
        found[i] = node - width
    return found
