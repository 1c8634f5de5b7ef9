"""What replay memories hold, and whether their parts agree."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from qwop.finetune.replay.memory import ArrayStore, FrameStore, Memory, Ring
from qwop.finetune.replay.sum_tree import SumTree


def contents(memory: Memory[Any]) -> Any:
    """Everything stored, oldest first."""
    return memory._read(memory._ring.by_age())


def values(tree: SumTree) -> NDArray[np.float64]:
    return tree._nodes[tree._width : tree._width + tree.capacity].copy()


def frames(store: FrameStore) -> int:
    """Number of distinct frames."""
    return len(store._uses) - len(store._free)


def nbytes(memory: Memory[Any]) -> int:
    store = memory._observations
    held = [*memory._columns.values()]
    if isinstance(store, ArrayStore):
        held.append(store._array)
    else:
        held += [*store._blocks, store._index, store._uses, store._hashes]
    return sum(one.nbytes for one in held)


def check(one: Any) -> None:
    """Assert that the parts of a memory, of a ring, of a tree or of a store agree."""
    if isinstance(one, Memory):
        check(one._ring)
        check(one._observations)
        if hasattr(one, "_tree"):
            check(one._tree)
            assert np.array_equal(values(one._tree) > 0, np.arange(one._ring.capacity) < len(one))
        if hasattr(one, "_finals"):
            assert all(0 <= slot < len(one) for slot in one._finals)
            contents(one).check_valid()
    elif isinstance(one, Ring):
        assert 0 <= one.size <= one.capacity
        assert 0 <= one.start < one.capacity
        assert one.start == 0 or one.size == one.capacity
    elif isinstance(one, SumTree):
        assert np.array_equal(one._nodes[1 : one._width], one._nodes[2::2] + one._nodes[3::2])
        assert not one._nodes[one._width + one.capacity :].any()
    elif isinstance(one, FrameStore):
        shown = one._index[one._index >= 0]
        assert np.array_equal(np.bincount(shown, minlength=len(one._uses)), one._uses)
        assert np.array_equal(np.flatnonzero(one._uses == 0), np.sort(one._free))
        assert len(one._known) <= frames(one)
