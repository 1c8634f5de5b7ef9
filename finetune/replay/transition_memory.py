"""Replay memory of transitions, sampled uniformly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import ObservationSpec
from ..experience.transitions import Transitions
from .memory import Memory


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
        # Observations before and after a transition are in one store, because they share frames.
        super().__init__(columns, 2, observation)

    @property
    def nbytes(self) -> int:
        """Memory used by the transitions, in bytes."""
        return self._observations.nbytes + sum(column.nbytes for column in self._columns.values())

    def push(self, transitions: Transitions) -> NDArray[np.int64]:
        """Store them in order, each overwriting the oldest once the memory is full; return their slots."""
        slots = self._ring.push(len(transitions))
        for name, column in self._columns.items():
            column[slots] = getattr(transitions, name)
        both = np.stack([transitions.observations, transitions.next_observations], axis=1)
        self._observations.put(slots, both)
        return slots

    def sample(self, n: int, beta: float, generator: np.random.Generator) -> Sample:
        """Sample n transitions uniformly from the whole memory, with replacement. beta is ignored; weights are 1."""
        slots = generator.integers(len(self), size=n)
        return Sample(self._read(slots), np.ones(n, dtype=np.float32), slots)

    def _read(self, slots: NDArray[np.int64]) -> Transitions:
        both = self._observations.take(slots)
        columns = {name: column[slots] for name, column in self._columns.items()}
        return Transitions(observations=both[:, 0], next_observations=both[:, 1], **columns)
