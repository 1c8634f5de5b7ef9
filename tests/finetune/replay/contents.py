"""Items for replay memories, what the memories hold, and whether their parts agree."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.sequences import LIVE, Sequences, Transitions
from qwop.finetune.replay.memory import FrameStore, Memory, SequenceMemory
from qwop.finetune.replay.transition_memory import PrioritisedMemory, SumTree, TransitionMemory

from ..fakes import check_sequences, make_sequences, make_transitions

PICTURES = ObservationSpec((2, 36, 36), "uint8")


@dataclass
class Kind:
    """A kind of memory. make: one of a capacity for observations; items: n of a source, numbered from `first`."""

    make: Callable[[int, ObservationSpec], Memory[Any]]
    items: Callable[..., Any]
    seen: ObservationSpec
    number: Callable[[Any], Any]

    def memory(self, capacity: int, pictures: bool = False) -> Any:
        return self.make(capacity, PICTURES if pictures else self.seen)

    def numbers(self, items: Any) -> list[int]:
        return np.asarray(self.number(items)).astype(int).tolist()

    def sample(self, memory: Any, n: int, seed: int = 0) -> Any:
        random = np.random.default_rng(seed)
        if isinstance(memory, SequenceMemory):
            return memory.sample(n, random)
        return memory.sample(n, 1.0, random).transitions


def sequences(n: int, first: int = 0, source: int = LIVE) -> Sequences:
    return make_sequences(n, first=first, source=source, truncated_every=2)


def transitions(n: int, first: int = 0, source: int = LIVE) -> Transitions:
    return make_transitions(n, source, first=first)


def _transitions(make: Callable[[int, ObservationSpec], Memory[Any]]) -> Kind:
    return Kind(make, transitions, ObservationSpec((1,)), lambda items: items.actions)


KINDS = {
    "sequences": Kind(
        lambda capacity, seen: SequenceMemory(capacity, 4, seen, 3),
        sequences,
        ObservationSpec((2,)),
        lambda items: items.rewards[:, 0] / 1000,
    ),
    "transitions": _transitions(TransitionMemory),
    "prioritised transitions": _transitions(lambda capacity, seen: PrioritisedMemory(capacity, seen, 0.6)),
}


def as_pictures(items: Any, seed: int) -> Any:
    """The items with pictures as observations."""
    random, n = np.random.default_rng(seed), len(items)
    if isinstance(items, Transitions):
        seen = random.integers(256, size=(2, n, *PICTURES.shape)).astype(np.uint8)
        return replace(items, observations=seen[0], next_observations=seen[1])
    seen = random.integers(256, size=(n, 5, *PICTURES.shape)).astype(np.uint8)
    finals = seen[items.finals.sequence, items.finals.step] + 1
    return replace(items, observations=seen, finals=items.finals._replace(observations=finals))


def contents(memory: Memory[Any]) -> Any:
    """Everything stored, oldest first."""
    return memory._read(memory._by_age())


def values(tree: SumTree) -> NDArray[np.float64]:
    return tree._nodes[tree._width : tree._width + tree.capacity].copy()


def check(one: Any) -> None:
    """Assert that the parts of a memory, of a tree or of a store agree."""
    if isinstance(one, Memory):
        assert one._start == 0 or len(one) == one._capacity
        check(one._columns["observations"])
        if hasattr(one, "_tree"):
            check(one._tree)
            assert np.array_equal(values(one._tree) > 0, np.arange(one._capacity) < len(one))
        if hasattr(one, "_finals"):
            assert all(0 <= slot < len(one) for slot in one._finals)
            check_sequences(contents(one))
    elif isinstance(one, SumTree):
        assert np.array_equal(one._nodes[1 : one._width], one._nodes[2::2] + one._nodes[3::2])
        assert not one._nodes[one._width + one.capacity :].any()
    elif isinstance(one, FrameStore):
        shown = [frame for frame in one._slots.flat if frame is not None]
        assert one._uses == Counter(shown)
        assert one._frames.keys() == one._uses.keys()
        assert {*map(id, shown)} == {*map(id, one._frames.values())}
