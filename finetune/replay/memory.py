"""Replay memories: a ring of items with their sources, in which each frame of a picture is stored once; and the memory
of sequences, sampled uniformly."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import Observations, ObservationSpec
from ..experience.sequences import Sequences, TruncatedObservations, source_shares

Items = TypeVar("Items")


class FrameStore:
    """`capacity` slots of `each` pictures, read and written like an array: each distinct frame is stored once.

    The observation after a decision shares all but one frame of its stack with the observation before it, and is also
    the observation before the next decision: of the eight frames of a transition with stacks of four, one is new.
    Frames are identified by content, so this works for any environment, n-step transitions, the ends of episodes and
    demonstrations. A frame is removed with the last observation that contains it.
    """

    def __init__(self, capacity: int, each: int, observation: ObservationSpec) -> None:
        self._shape = each, *observation.shape
        self._frame_size = observation.size // observation.stack
        self._slots = np.full((capacity, each * observation.stack), None, dtype=object)
        """Frames of each slot, as bytes; None: free."""
        self._frames: dict[bytes, bytes] = {}
        self._uses: Counter[bytes] = Counter()

    def __setitem__(self, slots: NDArray[np.int64], observations: Observations) -> None:
        """Store observations [n, each, *shape] in these slots, replacing their contents."""
        data, size = np.ascontiguousarray(observations, dtype=np.uint8).tobytes(), self._frame_size
        self._put(slots, [data[start : start + size] for start in range(0, len(data), size)])

    def __getitem__(self, slots: NDArray[np.int64]) -> Observations:
        """Copies of the observations of these slots, [n, each, *shape]."""
        frames = bytearray().join(self._slots[slots].flat)
        return np.frombuffer(frames, dtype=np.uint8).reshape(len(slots), *self._shape)

    def drop(self, slots: NDArray[np.int64]) -> None:
        """Free these slots."""
        for frame in self._slots[slots].flat:
            if frame is not None:
                self._uses[frame] -= 1
                if not self._uses[frame]:
                    del self._uses[frame], self._frames[frame]
        self._slots[slots] = None

    def packed(self, slots: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Contents of these slots, in order, with each frame once; for `put_packed`."""
        numbers: dict[bytes, int] = {}
        held = self._slots[slots]
        index = [numbers.setdefault(frame, len(numbers)) for frame in held.flat]
        frames = np.frombuffer(bytearray().join(numbers), dtype=np.uint8).reshape(-1, self._frame_size)
        return {"frames": frames, "index": np.array(index, dtype=np.int32).reshape(held.shape)}

    def put_packed(self, slots: NDArray[np.int64], packed: dict[str, NDArray[Any]]) -> None:
        """Store the result of `packed` for the same number of slots in these slots."""
        frames = [np.asarray(frame, dtype=np.uint8).tobytes() for frame in packed["frames"]]
        self._put(slots, [frames[number] for number in np.ravel(packed["index"]).tolist()])

    def _put(self, slots: NDArray[np.int64], frames: list[bytes]) -> None:
        self._uses.update(frames)  # before the old contents are removed, so that shared frames are kept
        frames = [self._frames.setdefault(frame, frame) for frame in frames]
        self.drop(slots)
        self._slots[slots] = np.array(frames, dtype=object).reshape(len(slots), self._slots.shape[1])


class Memory(Generic[Items]):
    """The newest `capacity` items; one source can be removed in a single call. Each image frame is stored once.

    Removal keeps the order of the rest and frees the slots, so no item of the source remains. Subclasses sample.
    columns: an array for each field of an item, [capacity, ...]; that of `observations`, of which an item has `each`,
    is added. Slots 0 … size − 1 are filled, the oldest at `start` (0 until the memory is full).
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], each: int, observation: ObservationSpec) -> None:
        self._observation = observation
        self._capacity, self._size, self._start = len(next(iter(columns.values()))), 0, 0
        pictures = FrameStore(self._capacity, each, observation) if observation.is_image else None
        self._columns: dict[str, Any] = {
            **columns,
            "observations": observation.zeros(self._capacity, each) if pictures is None else pictures,
        }

    def __len__(self) -> int:
        return self._size

    def push(self, items: Any) -> NDArray[np.int64]:
        """Store items in order, each overwriting the oldest once the memory is full; return their slots, int64 [n].

        A field that the items do not have is 0.
        """
        n = len(items.observations)
        if n > self._capacity:
            raise ValueError(f"{n} items at once into a memory of {self._capacity}")
        slots = (self._start + self._size + np.arange(n)) % self._capacity
        evicted = max(0, self._size + n - self._capacity)
        self._start = (self._start + evicted) % self._capacity
        self._size += n - evicted
        for name, column in self._columns.items():
            values = getattr(items, name)
            column[slots] = 0 if values is None else values
        return slots

    def remove(self, source: int) -> int:
        """Remove every item of this source immediately; return their number."""
        by_age = self._by_age()
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
        return {**self._state_of(self._by_age()), "start": self._start}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`, every item in its slot."""
        self._refill(state, int(state["start"]))

    def _by_age(self) -> NDArray[np.int64]:
        """The filled slots, oldest first: int64 [size]."""
        return (self._start + np.arange(self._size)) % self._capacity

    def _rows(self, slots: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Copies of the columns in these slots."""
        return {name: column[slots] for name, column in self._columns.items()}

    def _read(self, slots: NDArray[np.int64]) -> Items:
        """Copies of the items in these slots."""
        raise NotImplementedError

    def _state_of(self, slots: NDArray[np.int64]) -> dict[str, Any]:
        """Contents of these slots, in their order."""
        packed = {
            name: column.packed(slots) if isinstance(column, FrameStore) else column[slots]
            for name, column in self._columns.items()
        }
        return {"columns": packed}

    def _refill(self, state: dict[str, Any], start: int = 0) -> NDArray[np.int64]:
        """Replace the contents with a state from `_state_of`, the oldest at `start`; return the slots, oldest first."""
        before = self._by_age()
        self._start, self._size = start, len(next(iter(state["columns"].values())))
        slots = self._by_age()
        for name, column in self._columns.items():
            if isinstance(column, FrameStore):
                column.drop(before)
                column.put_packed(slots, state["columns"][name])
            else:
                column[slots] = state["columns"][name]
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

    def push(self, sequences: Sequences) -> NDArray[np.int64]:
        slots = super().push(sequences)
        for slot in slots.tolist():
            self._finals.pop(slot, None)
        self._hold(slots, sequences.finals)
        return slots

    def sample(self, n: int, generator: np.random.Generator) -> Sequences:
        """Sample n sequences uniformly from the whole memory, with replacement."""
        return self._read(generator.integers(len(self), size=n))

    def _read(self, slots: NDArray[np.int64]) -> Sequences:
        rows: dict[str, Any] = self._rows(slots)
        return Sequences(finals=self._finals_of(slots), **rows)

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
