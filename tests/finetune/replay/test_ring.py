"""The ring against a deque."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwop.finetune.replay.memory import Ring

from .contents import check


@given(st.integers(1, 9), st.data())
def test_it_keeps_what_a_deque_keeps_in_its_order(capacity: int, data: st.DataObject) -> None:
    ring, naive = Ring(capacity), deque[int](maxlen=capacity)
    stored, count = np.full(capacity, -1), 0
    for n in data.draw(st.lists(st.integers(0, capacity), max_size=8)):
        slots = ring.push(n)
        assert len(set(slots.tolist())) == n
        stored[slots] = np.arange(count, count + n)
        naive.extend(range(count, count + n))
        count += n
        check(ring)
        assert ring.size == len(naive)
        assert stored[ring.by_age()].tolist() == list(naive)


@given(st.integers(1, 9), st.data())
def test_a_refilled_ring_goes_on_where_it_was(capacity: int, data: st.DataObject) -> None:
    pushes = st.lists(st.integers(0, capacity), max_size=5)
    one, other = Ring(capacity), Ring(capacity)
    for n in data.draw(pushes):
        one.push(n)
    assert other.refill(one.size, one.start).tolist() == one.by_age().tolist()
    check(other)
    for n in data.draw(pushes):
        assert one.push(n).tolist() == other.push(n).tolist()


def test_more_than_it_holds_at_once_is_refused() -> None:
    with pytest.raises(ValueError, match="4 items at once into a memory of 3"):
        Ring(3).push(4)
