"""A ring of items with observations, each tagged with its source: what replay memories have in common."""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import ObservationSpec
from ..experience.sequences import source_shares
from .observation_store import observation_store
from .ring import Ring

Items = TypeVar("Items")


class Memory(Generic[Items]):
    """The newest `capacity` items; one source can be removed in a single call. Each image frame is stored once.

    Removal keeps the order of the rest and frees the slots, so no item of the source remains. Subclasses push and
    sample. columns: an array for each field of an item, [capacity, ...], among them `source`; each: observations of an
    item.
    """

    columns_name: ClassVar[str] = "columns"
    """Name of the columns in the state."""

    def __init__(self, columns: Mapping[str, NDArray[Any]], each: int, observation: ObservationSpec) -> None:
        self._columns, self._observation = columns, observation
        self._ring = Ring(len(columns["source"]))
        self._observations = observation_store(self._ring.capacity, each, observation)

    def __len__(self) -> int:
        return self._ring.size

    def contents(self) -> Items:
        """Everything stored, oldest first."""
        return self._read(self._ring.by_age())

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

    def check_valid(self) -> None:
        """Assert that the internal state is consistent."""
        self._ring.check_valid()

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
            self.columns_name: {name: column[slots] for name, column in self._columns.items()},
            "observations": self._observations.packed(slots),
        }

    def _refill(self, state: dict[str, Any], start: int = 0) -> NDArray[np.int64]:
        """Replace the contents with a state from `_state_of`, the oldest at `start`; return the slots, oldest first."""
        self._observations.drop(self._ring.by_age())
        columns = state[self.columns_name]
        slots = self._ring.refill(len(columns["source"]), start)
        for name, column in self._columns.items():
            column[slots] = columns[name]
        self._observations.put_packed(slots, state["observations"])
        return slots
