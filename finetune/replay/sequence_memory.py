"""Replay memory of sequences, sampled uniformly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import Observations, ObservationSpec
from ..experience.sequences import Sequences, TruncatedObservations
from .memory import Memory


class SequenceMemory(Memory[Sequences]):
    """The newest `capacity` sequences, sampled uniformly."""

    def __init__(self, capacity: int, steps: int, observation: ObservationSpec, actions: int) -> None:
        columns: dict[str, NDArray[Any]] = {
            "actions": np.zeros((capacity, steps), dtype=np.int64),
            "rewards": np.zeros((capacity, steps), dtype=np.float32),
            "behaviour_probabilities": np.zeros((capacity, steps, actions), dtype=np.float32),
            "terminated": np.zeros((capacity, steps), dtype=np.bool_),
            "truncated": np.zeros((capacity, steps), dtype=np.bool_),
            "source": np.zeros(capacity, dtype=np.int8),
            "player": np.zeros((capacity, steps, actions), dtype=np.float32),
            "returns": np.zeros((capacity, steps), dtype=np.float32),
            "known": np.zeros((capacity, steps), dtype=np.bool_),
        }
        super().__init__(columns, steps + 1, observation)
        self._finals: dict[int, tuple[NDArray[np.int64], Observations]] = {}

    def push(self, sequences: Sequences) -> None:
        """Store the sequences in order, each overwriting the oldest once the memory is full."""
        slots = self._ring.push(len(sequences))
        for name, column in self._columns.items():
            values = getattr(sequences, name)
            column[slots] = 0 if values is None else values
        self._observations.put(slots, sequences.observations)
        for slot in slots:
            self._finals.pop(int(slot), None)
        self._hold(slots, sequences.finals)

    def sample(self, n: int, generator: np.random.Generator) -> Sequences:
        """Sample n sequences uniformly from the whole memory, with replacement."""
        return self._read(generator.integers(len(self), size=n))

    def _read(self, slots: NDArray[np.int64]) -> Sequences:
        columns: dict[str, Any] = {name: column[slots] for name, column in self._columns.items()}
        return Sequences(observations=self._observations.take(slots), finals=self._finals_of(slots), **columns)

    def _state_of(self, slots: NDArray[np.int64]) -> dict[str, Any]:
        return {**super()._state_of(slots), "finals": self._finals_of(slots)._asdict()}

    def _refill(self, state: dict[str, Any], start: int = 0) -> NDArray[np.int64]:
        slots = super()._refill(state, start)
        self._finals.clear()
        self._hold(slots, TruncatedObservations(**state["finals"]))
        return slots

    def _finals_of(self, slots: NDArray[np.int64]) -> TruncatedObservations:
        """The final observations of the sequences in these slots."""
        finals = [(i, *self._finals[int(slot)]) for i, slot in enumerate(slots) if int(slot) in self._finals]
        return TruncatedObservations(
            np.concatenate([np.zeros(0, np.int64), *(np.full(len(step), i) for i, step, _ in finals)]),
            np.concatenate([np.zeros(0, np.int64), *(step for _, step, _ in finals)]),
            np.concatenate([self._observation.zeros(0), *(observations for _, _, observations in finals)]),
        )

    def _hold(self, slots: NDArray[np.int64], finals: TruncatedObservations) -> None:
        """Store the final observations of the sequences in these slots."""
        for sequence in np.unique(finals.sequence):
            mine = finals.sequence == sequence
            self._finals[int(slots[sequence])] = (finals.step[mine], finals.observations[mine])
