"""Replay memory of sequences, each tagged with its source, sampled uniformly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import Observations, ObservationSpec
from ..experience.sequences import DEMONSTRATIONS, Sequences, TruncatedObservations, source_shares
from .observation_store import observation_store
from .ring import Ring


class SequenceMemory:
    """The newest `capacity` sequences; one source can be removed in a single call. Each image frame is stored once.

    Removal keeps the order of the rest and frees the slots, so no sequence of the source remains.
    """

    def __init__(self, capacity: int, steps: int, observation: ObservationSpec, actions: int) -> None:
        self._ring = Ring(capacity)
        self._observation = observation
        self._arrays: dict[str, NDArray[Any]] = {
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
        self._observations = observation_store(capacity, steps + 1, observation)
        self._finals: dict[int, tuple[NDArray[np.int64], Observations]] = {}

    def __len__(self) -> int:
        return self._ring.size

    def push(self, sequences: Sequences) -> None:
        """Store the sequences in order, each overwriting the oldest once the memory is full."""
        slots = self._ring.push(len(sequences))
        for name, array in self._arrays.items():
            given = getattr(sequences, name)
            array[slots] = 0 if given is None else given
        self._observations.put(slots, sequences.observations)
        for slot in slots:
            self._finals.pop(int(slot), None)
        self._hold(slots, sequences.finals)

    def sample(self, n: int, generator: np.random.Generator) -> Sequences:
        """Sample n sequences uniformly from the whole memory, with replacement."""
        return self._take(generator.integers(len(self), size=n))

    def contents(self) -> Sequences:
        """Everything stored, oldest first."""
        return self._take(self._ring.by_age())

    def remove(self, source: int) -> int:
        """Remove every sequence of this source immediately; return their number."""
        by_age = self._ring.by_age()
        kept = by_age[self._arrays["source"][by_age] != source]
        for array in self._arrays.values():
            array[: len(kept)] = array[kept]
        packed = self._observations.packed(kept)
        self._observations.drop(by_age)
        self._observations.put_packed(np.arange(len(kept)), packed)
        self._finals = {new: self._finals[int(old)] for new, old in enumerate(kept) if int(old) in self._finals}
        self._ring.refill(len(kept))
        return len(by_age) - len(kept)

    def shares(self) -> dict[str, float]:
        """The share of each source in the stored sequences; all 0 if the memory is empty."""
        return source_shares(self._arrays["source"][: len(self)])

    def check_valid(self) -> None:
        """Assert that the internal state is consistent."""
        self._ring.check_valid()
        assert all(0 <= slot < len(self) for slot in self._finals)
        self.contents().check_valid()

    def get_state(self) -> dict[str, object]:
        """The state for `set_state` of a memory of the same shape; arrays are copies, oldest first."""
        contents = self.contents()
        arrays = {name: getattr(contents, name) for name in self._arrays}
        return {
            "arrays": arrays,
            "observations": self._observations.packed(self._ring.by_age()),
            "finals": dict(contents.finals._asdict()),
            "start": self._ring.start,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`, every sequence in its slot."""
        self._observations.drop(self._ring.by_age())
        slots = self._ring.refill(len(state["arrays"]["source"]), int(state["start"]))
        arrays = {**self._imitated(state["arrays"]), **state["arrays"]}
        for name, array in self._arrays.items():
            array[slots] = arrays[name]
        self._observations.put_packed(slots, state["observations"])
        self._finals.clear()
        self._hold(slots, TruncatedObservations(**state["finals"]))

    def _imitated(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Fields missing from states of earlier versions, whose demonstrations are imitated by their actions."""
        one_hot = np.eye(self._arrays["player"].shape[-1], dtype=np.float32)[arrays["actions"]]
        shown = arrays["source"] == DEMONSTRATIONS
        zeros = np.zeros(arrays["actions"].shape, dtype=np.float32)
        return {"player": one_hot * shown[:, np.newaxis, np.newaxis], "returns": zeros, "known": zeros > 0}

    def _take(self, slots: NDArray[np.int64]) -> Sequences:
        held = [(i, *self._finals[int(slot)]) for i, slot in enumerate(slots) if int(slot) in self._finals]
        finals = TruncatedObservations(
            np.concatenate([np.zeros(0, np.int64), *(np.full(len(step), i) for i, step, _ in held)]),
            np.concatenate([np.zeros(0, np.int64), *(step for _, step, _ in held)]),
            np.concatenate([self._observation.zeros(0), *(seen for _, _, seen in held)]),
        )
        columns: dict[str, Any] = {name: array[slots] for name, array in self._arrays.items()}
        return Sequences(observations=self._observations.take(slots), finals=finals, **columns)

    def _hold(self, slots: NDArray[np.int64], finals: TruncatedObservations) -> None:
        """Store the final observations of the sequences in these slots."""
        for sequence in np.unique(finals.sequence):
            mine = finals.sequence == sequence
            self._finals[int(slots[sequence])] = (finals.step[mine], finals.observations[mine])
