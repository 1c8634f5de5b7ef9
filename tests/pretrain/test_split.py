"""Splits by episode."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.pretrain.clone import hold_out


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(0, 5))
def test_both_parts_are_disjoint_and_together_everything(count: int, share: float, seed: int) -> None:
    train, held_out = hold_out(count, share, seed)
    assert train
    assert held_out
    assert sorted(train + held_out) == list(range(count))


def test_five_fifths_hold_out_every_episode_once() -> None:
    held_out = [number for part in range(5) for number in hold_out(40, 0.2, seed=3, part=part)[1]]
    assert sorted(held_out) == list(range(40))


def test_the_share_is_rounded_to_whole_episodes() -> None:
    assert [len(hold_out(10, share, seed=0)[1]) for share in (0.14, 0.16, 0.19)] == [1, 2, 2]


def test_a_single_episode_is_in_both_parts() -> None:
    assert hold_out(1, 0.2, seed=0) == ([0], [0])


def test_no_episode_cannot_be_split() -> None:
    with pytest.raises(BadInput, match="0 episode"):
        hold_out(0, 0.2, seed=0)
