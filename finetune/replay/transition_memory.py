"""Replay memory of transitions, each tagged with its source, sampled uniformly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import ObservationSpec
from ..experience.sequences import source_shares
from ..experience.transitions import Transitions
from .observation_store import observation_store
from .ring import Ring


@dataclass(frozen=True)
class Sample:
    """A batch: transitions, their importance weights float32 [B], and their slots int64 [B]."""

    transitions: Transitions
    weights: NDArray[np.float32]
    slots: NDArray[np.int64]


class TransitionMemory:
    """The newest `capacity` transitions, sampled uniformly; one source can be removed in a single call.

    Each image frame is stored once: a million transitions of 84 × 84 × 4 take about 7 GB.
    """

    def __init__(self, capacity: int, observation: ObservationSpec) -> None:
        self._ring = Ring(capacity)
        self._columns: dict[str, NDArray[Any]] = {
            "actions": np.zeros(capacity, dtype=np.int64),
            "rewards": np.zeros(capacity, dtype=np.float32),
            "discounts": np.zeros(capacity, dtype=np.float32),
            "source": np.zeros(capacity, dtype=np.int8),
        }
        # Observations before and after a transition are in one store, because they share frames.
        self._observations = observation_store(capacity, 2, observation)

    def __len__(self) -> int:
        return self._ring.size

    @property
    def nbytes(self) -> int:
        """Memory used by the transitions, in bytes."""
        return self._observations.nbytes + sum(column.nbytes for column in self._columns.values())

    def push(self, transitions: Transitions) -> NDArray[np.int64]:
        """Store them in order, each overwriting the oldest once the memory is full; return their slots."""
        slots = self._ring.push(len(transitions))
        self._write(slots, transitions)
        return slots

    def sample(self, n: int, beta: float, generator: np.random.Generator) -> Sample:
        """Sample n transitions uniformly from the whole memory, with replacement. beta is ignored; weights are 1."""
        slots = generator.integers(len(self), size=n)
        return Sample(self._read(slots), np.ones(n, dtype=np.float32), slots)

    def contents(self) -> Transitions:
        """Everything stored, oldest first."""
        return self._read(self._ring.by_age())

    def remove(self, source: int) -> int:
        """Remove every transition of this source immediately; return their number."""
        by_age = self._ring.by_age()
        kept = by_age[self._columns["source"][by_age] != source]
        self._refill(self._state_of(kept))
        return len(by_age) - len(kept)

    def clear(self) -> None:
        """Remove all transitions."""
        self._refill(self._state_of(np.zeros(0, dtype=np.int64)))

    def shares(self) -> dict[str, float]:
        """The share of each source in the stored transitions; all 0 if the memory is empty."""
        return source_shares(self._columns["source"][: len(self)])

    def check_valid(self) -> None:
        """Assert that the internal state is consistent."""
        self._ring.check_valid()

    def get_state(self) -> dict[str, object]:
        """The state for `set_state` of a memory of the same shape; arrays are copies, oldest first."""
        return {**self._state_of(self._ring.by_age()), "start": self._ring.start}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`, every transition in its slot."""
        self._refill(state, int(state["start"]))

    def _state_of(self, slots: NDArray[np.int64]) -> dict[str, Any]:
        """Contents of these slots, in their order."""
        return {
            "columns": {name: column[slots] for name, column in self._columns.items()},
            "observations": self._observations.packed(slots),
        }

    def _refill(self, state: dict[str, Any], start: int = 0) -> NDArray[np.int64]:
        """Replace the contents with a state from `_state_of`, the oldest at `start`; return the slots, oldest first."""
        self._observations.drop(self._ring.by_age())
        slots = self._ring.refill(len(state["columns"]["source"]), start)
        for name, column in self._columns.items():
            column[slots] = state["columns"][name]
        self._observations.put_packed(slots, state["observations"])
        return slots

    def _read(self, slots: NDArray[np.int64]) -> Transitions:
        both = self._observations.take(slots)
        columns = {name: column[slots] for name, column in self._columns.items()}
        return Transitions(observations=both[:, 0], next_observations=both[:, 1], **columns)

    def _write(self, slots: NDArray[np.int64], transitions: Transitions) -> None:
        for name, column in self._columns.items():
            column[slots] = getattr(transitions, name)
        both = np.stack([transitions.observations, transitions.next_observations], axis=1)
        self._observations.put(slots, both)
