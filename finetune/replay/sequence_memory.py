"""Replay memory: a ring of sequences, each tagged with its source."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import ObservationSpec
from ..experience.sequences import SOURCES, Finals, Sequences


class SequenceMemory:
    """The newest `capacity` sequences; sampling is uniform over what is there, and a source can be removed at once.

    Sequences lie in slots 0 … size − 1, oldest at `start` (0 until the ring is full). Removal keeps the order of the
    rest and frees the slots, so nothing of the source is left to be sampled or evicted.
    """

    def __init__(self, capacity: int, steps: int, observation: ObservationSpec, actions: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity {capacity}, expected at least 1")
        self.capacity = capacity
        self._arrays: dict[str, NDArray[Any]] = {
            "observations": observation.zeros(capacity, steps + 1),
            "actions": np.zeros((capacity, steps), dtype=np.int64),
            "rewards": np.zeros((capacity, steps), dtype=np.float32),
            "behaviour_probabilities": np.zeros((capacity, steps, actions), dtype=np.float32),
            "terminated": np.zeros((capacity, steps), dtype=np.bool_),
            "truncated": np.zeros((capacity, steps), dtype=np.bool_),
            "source": np.zeros(capacity, dtype=np.int8),
        }
        self._finals: dict[int, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        self._size = 0
        self._start = 0

    def __len__(self) -> int:
        return self._size

    def push(self, sequences: Sequences) -> None:
        """Store the sequences, in their order, each in place of the oldest once the memory is full."""
        n = len(sequences)
        if n > self.capacity:
            raise ValueError(f"{n} sequences at once into a memory of {self.capacity}")
        slots = (self._start + self._size + np.arange(n)) % self.capacity
        for name, array in self._arrays.items():
            array[slots] = getattr(sequences, name)
        for slot in slots:
            self._finals.pop(int(slot), None)
        for sequence in np.unique(sequences.finals.sequence):
            mine = sequences.finals.sequence == sequence
            self._finals[int(slots[sequence])] = (sequences.finals.step[mine], sequences.finals.observations[mine])
        evicted = max(0, self._size + n - self.capacity)
        self._start = (self._start + evicted) % self.capacity
        self._size += n - evicted

    def sample(self, n: int, generator: np.random.Generator) -> Sequences:
        """n sequences, each drawn uniformly from the whole memory."""
        if not self._size:
            raise ValueError("nothing to sample: the memory is empty")
        return self._take(generator.integers(self._size, size=n))

    def contents(self) -> Sequences:
        """Everything stored, oldest first."""
        return self._take(self._slots_by_age())

    def remove(self, source: int) -> int:
        """Drop every sequence of this source, now; returns how many there were."""
        kept = self._slots_by_age()
        kept = kept[self._arrays["source"][kept] != source]
        removed = self._size - len(kept)
        for array in self._arrays.values():
            array[: len(kept)] = array[kept]
        self._finals = {new: self._finals[int(old)] for new, old in enumerate(kept) if int(old) in self._finals}
        self._start, self._size = 0, len(kept)
        return removed

    def shares(self) -> dict[str, float]:
        """The share of the stored sequences that each source has; 0 everywhere when nothing is stored."""
        counts = np.bincount(self._arrays["source"][: self._size], minlength=len(SOURCES))
        return {name: float(count) / max(self._size, 1) for name, count in zip(SOURCES, counts, strict=True)}

    def check_valid(self) -> None:
        """The structure agrees with itself."""
        assert 0 <= self._size <= self.capacity
        assert self._start == 0 or self._size == self.capacity
        assert all(0 <= slot < self._size for slot in self._finals)
        self.contents().check_valid()

    def get_state(self) -> dict[str, Any]:
        """What `set_state` of a memory of the same shape needs; arrays are copies, oldest first."""
        contents = self.contents()
        arrays = {name: getattr(contents, name) for name in self._arrays}
        return {"arrays": arrays, "finals": dict(contents.finals._asdict()), "start": self._start}

    def set_state(self, state: dict[str, Any]) -> None:
        """Put back what `get_state` gave, every sequence in its slot."""
        stored = Sequences(finals=Finals(**state["finals"]), **state["arrays"])
        self._finals.clear()
        self._size, self._start = 0, int(state["start"])
        self.push(stored)

    def _slots_by_age(self) -> NDArray[np.int64]:
        return (self._start + np.arange(self._size)) % self.capacity

    def _take(self, slots: NDArray[np.int64]) -> Sequences:
        held = [(i, *self._finals[int(slot)]) for i, slot in enumerate(slots) if int(slot) in self._finals]
        shape = self._arrays["observations"].shape[2:]
        finals = Finals(
            np.concatenate([np.zeros(0, np.int64), *(np.full(len(step), i) for i, step, _ in held)]),
            np.concatenate([np.zeros(0, np.int64), *(step for _, step, _ in held)]),
            np.concatenate([np.zeros((0, *shape), np.float32), *(seen for _, _, seen in held)]),
        )
        return Sequences(finals=finals, **{name: array[slots] for name, array in self._arrays.items()})
