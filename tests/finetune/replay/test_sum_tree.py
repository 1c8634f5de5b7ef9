"""The sum tree against a naive one, and its draws against their probabilities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.finetune.replay.transition_memory import SumTree

from .contents import check, values


@pytest.fixture
def four() -> SumTree:
    tree = SumTree(4)
    tree.set(np.arange(4), np.array([1.0, 2.0, 3.0, 4.0]))
    return tree


@pytest.mark.parametrize(
    ("mass", "place"), [(0, 0), (0.999, 0), (1, 1), (2.5, 1), (3, 2), (5.9, 2), (6, 3), (9.999, 3)]
)
def test_a_mass_finds_the_place_that_covers_it(four: SumTree, mass: float, place: int) -> None:
    assert four.find(np.array([mass])).tolist() == [place]


def test_draws_are_in_proportion_to_the_values(four: SumTree) -> None:
    draws = np.bincount(four.find(np.random.default_rng(0).random(100_000) * four.total), minlength=4)
    expected = 1e5 * np.array([0.1, 0.2, 0.3, 0.4])
    assert ((draws - expected) ** 2 / expected).sum() < 16.27  # χ², 3 degrees of freedom, p = 0.001


def test_a_place_overwritten_keeps_the_root_the_sum_of_the_leaves(four: SumTree) -> None:
    four.set(np.array([2, 0, 2]), np.array([9.0, 0.5, 7.0]))
    assert values(four).tolist() == [0.5, 2.0, 7.0, 4.0]
    assert four.total == 13.5
    check(four)


value = st.one_of(st.just(0.0), st.floats(1e-9, 1e6))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 20), st.data())
def test_it_does_what_a_naive_one_does(capacity: int, data: st.DataObject) -> None:
    tree, naive = SumTree(capacity), np.zeros(capacity)
    for _ in range(data.draw(st.integers(1, 5))):
        places = np.array(data.draw(st.lists(st.integers(0, capacity - 1), max_size=8)), dtype=np.int64)
        numbers = np.array(data.draw(st.lists(value, min_size=len(places), max_size=len(places))))
        tree.set(places, numbers)
        for place, one in zip(places, numbers, strict=True):
            naive[place] = one
    check(tree)
    assert np.array_equal(values(tree), naive)
    assert tree.total == pytest.approx(naive.sum())
    if tree.total:
        masses = np.linspace(0, 1, 50, endpoint=False) * tree.total
        found = tree.find(masses)
        assert (naive[found] > 0).all()
        before, after = np.cumsum(naive) - naive, np.cumsum(naive)
        slack = 1e-9 * naive.sum()
        assert ((before[found] <= masses + slack) & (masses - slack <= after[found])).all()


def test_a_mass_beyond_all_finds_the_last_place_that_has_a_value() -> None:
    tree = SumTree(8)
    tree.set(np.array([1, 4]), np.array([0.1, 0.2]))
    assert tree.find(np.array([tree.total, 1e9])).tolist() == [4, 4]


def test_it_does_not_drift() -> None:
    tree, generator = SumTree(1000), np.random.default_rng(0)
    for _ in range(300):
        tree.set(generator.integers(1000, size=64), generator.random(64) * 10.0 ** generator.integers(-6, 6))
    tree.set(np.arange(1000), np.full(1000, 0.25))
    assert tree.total == 250.0
