"""Replay memories: a ring of items with their sources, whose observations are vectors in one array or images with each
frame stored once; and the memory of sequences, sampled uniformly."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import Observations, ObservationSpec
from ..experience.sequences import Sequences, TruncatedObservations, source_shares

Items = TypeVar("Items")

BLOCK = 4096
"""Number of frames to allocate memory for at a time."""


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


class ArrayStore:
    """`capacity` slots of `each` observations of one shape and type, stored unchanged in one array."""

    def __init__(self, capacity: int, each: int, observation: ObservationSpec) -> None:
        self._array = observation.zeros(capacity, each)

    def put(self, slots: NDArray[np.int64], observations: Observations) -> None:
        """Store observations [n, each, *shape] in these slots, replacing their contents."""
        self._array[slots] = observations

    def take(self, slots: NDArray[np.int64]) -> Observations:
        """Copies of the observations of these slots, [n, each, *shape]."""
        return self._array[slots]

    def drop(self, slots: NDArray[np.int64]) -> None:
        """Free these slots. Does nothing here: they are overwritten when reused."""

    def packed(self, slots: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Contents of these slots, in order, in the store's compact form; for `put_packed`."""
        return {"observations": self._array[slots]}

    def put_packed(self, slots: NDArray[np.int64], packed: dict[str, NDArray[Any]]) -> None:
        """Store the result of `packed` for the same number of slots in these slots."""
        self._array[slots] = packed["observations"]


class FrameStore:
    """Store for images: each distinct frame is stored once, and stacks are assembled when read.

    The observation after a decision shares all but one frame of its stack with the observation before it, and is also
    the observation before the next decision: of the eight frames of a transition with stacks of four, one is new.
    Frames are identified by content, so this works for any environment, n-step transitions, the ends of episodes and
    demonstrations. A frame is removed with the last observation that contains it.
    """

    def __init__(self, capacity: int, each: int, observation: ObservationSpec) -> None:
        self._observation = observation
        self._each = each
        self._frame_size = observation.size // observation.stack
        self._index = np.full((capacity, each * observation.stack), -1, dtype=np.int32)
        self._blocks: list[NDArray[np.uint8]] = []
        self._uses = np.zeros(0, dtype=np.int32)
        self._hashes = np.zeros(0, dtype=np.int64)
        self._free: list[int] = []
        self._known: dict[int, int] = {}

    def put(self, slots: NDArray[np.int64], observations: Observations) -> None:
        frames = np.ascontiguousarray(observations, dtype=np.uint8).reshape(-1, self._frame_size)
        # Added before the old contents are removed, so that shared frames are kept.
        numbers = np.array([self._number(frame) for frame in frames], dtype=np.int32)
        self.drop(slots)
        self._index[slots] = numbers.reshape(len(slots), self._index.shape[1])

    def take(self, slots: NDArray[np.int64]) -> Observations:
        frames = self._frames(self._index[slots].ravel())
        return frames.reshape(len(slots), self._each, *self._observation.shape)

    def drop(self, slots: NDArray[np.int64]) -> None:
        for number in self._index[slots].ravel().tolist():
            if number >= 0:
                self._uses[number] -= 1
                if not self._uses[number]:
                    self._forget(number)
        self._index[slots] = -1

    def packed(self, slots: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        numbers, first, index = np.unique(self._index[slots], return_index=True, return_inverse=True)
        order = first.argsort()  # as they appear, whatever their numbers are
        index = order.argsort()[index.reshape(len(slots), self._index.shape[1])]
        return {"frames": self._frames(numbers[order]), "index": index.astype(np.int32)}

    def put_packed(self, slots: NDArray[np.int64], packed: dict[str, NDArray[Any]]) -> None:
        frames, index = np.asarray(packed["frames"], dtype=np.uint8), np.asarray(packed["index"])
        self.drop(slots)
        numbers = np.array([self._number(frame) for frame in frames], dtype=np.int32)
        self._index[slots] = numbers[index]
        self._uses += np.bincount(numbers[index].ravel(), minlength=len(self._uses)).astype(np.int32)
        for number in numbers.tolist():  # storing counted each once
            self._uses[number] -= 1

    def _frames(self, numbers: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Copies of the frames with these numbers, [n, size]."""
        frames = np.empty((len(numbers), self._frame_size), dtype=np.uint8)
        for place, number in enumerate(numbers.tolist()):
            frames[place] = self._blocks[number // BLOCK][number % BLOCK]
        return frames

    def _number(self, frame: NDArray[np.uint8]) -> int:
        """Store a frame if it is new, increment its reference count, and return its number."""
        key = hash(frame.tobytes())
        number = self._known.get(key, -1)
        # Two frames with the same hash are both stored, but only the first is found again.
        if number < 0 or not np.array_equal(self._blocks[number // BLOCK][number % BLOCK], frame):
            collision = number >= 0
            if not self._free:
                self._grow()
            number = self._free.pop()
            self._blocks[number // BLOCK][number % BLOCK] = frame
            self._hashes[number] = key
            if not collision:
                self._known[key] = number
        self._uses[number] += 1
        return number

    def _forget(self, number: int) -> None:
        self._free.append(number)
        key = int(self._hashes[number])
        if self._known.get(key) == number:
            del self._known[key]

    def _grow(self) -> None:
        first = len(self._blocks) * BLOCK
        self._blocks.append(np.empty((BLOCK, self._frame_size), dtype=np.uint8))
        self._uses = np.concatenate([self._uses, np.zeros(BLOCK, dtype=np.int32)])
        self._hashes = np.concatenate([self._hashes, np.zeros(BLOCK, dtype=np.int64)])
        self._free.extend(range(first + BLOCK - 1, first - 1, -1))


class Memory(Generic[Items]):
    """The newest `capacity` items; one source can be removed in a single call. Each image frame is stored once.

    Removal keeps the order of the rest and frees the slots, so no item of the source remains. Subclasses push and
    sample. columns: an array for each field of an item, [capacity, ...], among them `source`; each: observations of an
    item.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], each: int, observation: ObservationSpec) -> None:
        self._columns, self._observation = columns, observation
        self._ring = Ring(len(columns["source"]))
        store = FrameStore if observation.is_image else ArrayStore
        self._observations: FrameStore | ArrayStore = store(self._ring.capacity, each, observation)

    def __len__(self) -> int:
        return self._ring.size

    def remove(self, source: int) -> int:
        """Remove every item of this source immediately; return their number."""
        by_age = self._ring.by_age()
        rest = by_age[self._columns["source"][by_age] != source]
        self._refill(self._state_of(rest))
        return len(by_age) - len(rest)

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
        self._ring.start, self._ring.size = start, len(columns["source"])
        slots = self._ring.by_age()
        for name, column in self._columns.items():
            column[slots] = columns[name]
        self._observations.put_packed(slots, state["observations"])
        return slots


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
