"""Checks that sequences, and what holds them, are consistent."""

import numpy as np
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.replay.memory import Memory
from qwop.finetune.replay.observation_store import FrameStore
from qwop.finetune.replay.prioritised_memory import PrioritisedMemory
from qwop.finetune.replay.ring import Ring
from qwop.finetune.replay.sequence_memory import SequenceMemory
from qwop.finetune.replay.sum_tree import SumTree


def check_sequences(sequences: Sequences) -> None:
    """Shapes agree, and every truncated step has its final observation."""
    n, k = sequences.actions.shape
    assert sequences.observations.shape[:2] == (n, k + 1)
    assert sequences.rewards.shape == sequences.terminated.shape == sequences.truncated.shape == (n, k)
    assert sequences.behaviour_probabilities.shape[:2] == (n, k)
    assert sequences.source.shape == (n,)
    assert all(len(part) == n for part in sequences.state)
    stopped = np.argwhere(sequences.truncated & ~sequences.terminated)
    named = {(int(i), int(t)) for i, t in zip(sequences.finals.sequence, sequences.finals.step, strict=True)}
    assert named >= {(int(i), int(t)) for i, t in stopped}
    assert sequences.finals.observations.shape == (len(named), *sequences.observations.shape[2:])


def check_memory(memory: Memory[object]) -> None:
    """The ring is valid, and nothing is held for slots that are free."""
    check_ring(memory._ring)
    if isinstance(memory, SequenceMemory):
        assert all(0 <= slot < len(memory) for slot in memory._finals)
        check_sequences(memory.contents())
    if isinstance(memory, PrioritisedMemory):
        check_tree(memory._tree)
        assert np.array_equal(leaves(memory._tree) > 0, np.arange(memory._ring.capacity) < len(memory))


def check_ring(ring: Ring) -> None:
    """The oldest is in slot 0 unless the ring is full."""
    assert 0 <= ring.size <= ring.capacity
    assert 0 <= ring.start < ring.capacity
    assert ring.start == 0 or ring.size == ring.capacity


def check_tree(tree: SumTree) -> None:
    """Every node is the sum of its children."""
    inner = tree._nodes[1 : tree._width]
    assert np.array_equal(inner, tree._nodes[2::2] + tree._nodes[3::2])
    assert not tree._nodes[tree._width + tree.capacity :].any()


def leaves(tree: SumTree) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """All values of the tree."""
    return tree.get(np.arange(tree.capacity))


def check_frames(store: FrameStore) -> None:
    """Reference counts match the index, and free frames are unused."""
    shown = store._index[store._index >= 0]
    assert np.array_equal(np.bincount(shown, minlength=len(store._uses)), store._uses)
    assert np.array_equal(np.flatnonzero(store._uses == 0), np.sort(store._free))
    assert len(store._known) <= frames(store)


def frames(store: FrameStore) -> int:
    """Number of distinct frames stored."""
    return len(store._uses) - len(store._free)
