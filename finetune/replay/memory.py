"""A ring of items with observations, each tagged with its source: what replay memories have in common."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import ObservationSpec
from ..experience.sequences import source_shares
from .observation_store import observation_store

Items = TypeVar("Items")


class Ring:
    """Slots 0 … capacity − 1, of which 0 … size − 1 are filled, the oldest at `start` (0 until the ring is full)."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.size = 0
        self.start = 0

    def push(self, n: int) -> NDArray[np.int64]:
        """Allocate slots, int64 [n], for the next n items, each overwriting the oldest once the ring is full."""
        if n > self.capacity:
            raise ValueError(f"{n} items at once into a memory of {self.capacity}")
        slots = (self.start + self.size + np.arange(n)) % self.capacity
        evicted = max(0, self.size + n - self.capacity)
        self.start = (self.start + evicted) % self.capacity
        self.size += n - evicted
        return slots

    def by_age(self) -> NDArray[np.int64]:
        """The filled slots, oldest first: int64 [size]."""
        return (self.start + np.arange(self.size)) % self.capacity

    def refill(self, size: int, start: int = 0) -> NDArray[np.int64]:
        """Reset to `size` items with the oldest at `start`; return their slots, oldest first."""
        self.start, self.size = start, size
        return self.by_age()


class Memory(Generic[Items]):
    """The newest `capacity` items; one source can be removed in a single call. Each image frame is stored once.

    Removal keeps the order of the rest and frees the slots, so no item of the source remains. Subclasses push and
    sample. columns: an array for each field of an item, [capacity, ...], among them `source`; each: observations of an
    item.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], each: int, observation: ObservationSpec) -> None:
        self._columns, self._observation = columns, observation
        self._ring = Ring(len(columns["source"]))
        self._observations = observation_store(self._ring.capacity, each, observation)

    def __len__(self) -> int:
        return self._ring.size

    def remove(self, source: int) -> int:
        """Remove every item of this source immediately; return their number."""
        by_age = self._ring.by_age()
        kept = by_age[self._columns["source"][by_age] != source]
        self._refill(self._state_of(kept))
        return len(by_age) - len(kept)

    def clear(self) -> None:
        """Remove all items."""
        self._refill(self._state_of(np.zeros(0, dtype=np.int64)))

    def shares(self) -> dict[str, float]:
        """The share of each source in the stored items; all 0 if the memory is empty."""
        return source_shares(self._columns["source"][: len(self)])

    def get_state(self) -> dict[str, object]:
        """The state for `set_state` of a memory of the same shape; arrays are copies, oldest first."""
        return {**self._state_of(self._ring.by_age()), "start": self._ring.start}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`, every item in its slot."""
        self._refill(state, int(state["start"]))

    def _read(self, slots: NDArray[np.int64]) -> Items:
        """Copies of the items in these slots."""
        raise NotImplementedError

    def _state_of(self, slots: NDArray[np.int64]) -> dict[str, Any]:
        """Contents of these slots, in their order."""
        return {
            "columns": {name: column[slots] for name, column in self._columns.items()},
            "observations": self._observations.packed(slots),
        }

    def _refill(self, state: dict[str, Any], start: int = 0) -> NDArray[np.int64]:
        """Replace the contents with a state from `_state_of`, the oldest at `start`; return the slots, oldest first."""
        self._observations.drop(self._ring.by_age())
        columns = state["columns"]
        slots = self._ring.refill(len(columns["source"]), start)
        for name, column in self._columns.items():
            column[slots] = columns[name]
        self._observations.put_packed(slots, state["observations"])
        return slots
