"""Replay of transitions: what is drawn how often, with which weight, what leaves, and the bytes that pictures take."""

from dataclasses import replace
from sys import getsizeof

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, mixed
from qwop.finetune.replay.transition_memory import PrioritisedMemory, SumTree, TransitionMemory, importance_weights

from ..fakes import make_transitions
from .contents import check, contents, values


def memory(capacity: int = 8, alpha: float = 0.6) -> PrioritisedMemory:
    return PrioritisedMemory(capacity, ObservationSpec((1,)), alpha)


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(0)


P = [0.1482295, 0.2246739, 0.2865546, 0.3405420]


WEIGHTS = [1, 0.8467453, 0.7682294, 0.7169776]


def test_draws_follow_the_priorities_and_weights_belong_to_them(generator: np.random.Generator) -> None:
    assert importance_weights(np.array(P), 4, 0.4) == pytest.approx(WEIGHTS, abs=1e-6)
    one = memory()
    one.push(make_transitions(4))
    one.update(np.arange(4), np.array([1, -2, 3, -4], dtype=np.float32))
    sample = one.sample(100_000, 0.4, generator)
    draws, expected = np.bincount(sample.transitions.actions, minlength=4), 1e5 * np.array(P)
    assert ((draws - expected) ** 2 / expected).sum() < 16.27  # χ², 3 degrees of freedom, p = 0.001
    assert sample.weights == pytest.approx(np.array(WEIGHTS)[sample.transitions.actions], abs=1e-6)


def test_what_is_new_has_the_largest_priority_ever(generator: np.random.Generator) -> None:
    one = memory(alpha=1.0)
    one.push(make_transitions(2))
    one.update(np.array([0, 1]), np.array([5.0, 0.5], dtype=np.float32))
    one.update(np.array([0]), np.array([0.5], dtype=np.float32))
    one.push(make_transitions(1, first=2))
    draws = np.bincount(one.sample(60_000, 1.0, generator).transitions.actions) / 60_000
    assert draws == pytest.approx([0.5 / 6, 0.5 / 6, 5 / 6], abs=0.01)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_errors_of_training_that_diverged_are_refused(wrong: float) -> None:
    one = memory()
    one.push(make_transitions(2))
    with pytest.raises(BadInput, match="diverged"):
        one.update(np.array([0, 1]), np.array([1.0, wrong], dtype=np.float32))


def test_a_removed_source_is_gone_and_the_rest_keep_order_and_priority(generator: np.random.Generator) -> None:
    one = memory(capacity=8)
    one.push(mixed(make_transitions(4), make_transitions(4, DEMONSTRATIONS, first=100)))
    one.push(make_transitions(1, first=4))  # the ring has gone round
    before = dict(zip(contents(one).actions.tolist(), one.get_state()["priorities"].tolist(), strict=True))
    assert one.shares()["demonstrations"] == 0.5
    assert one.remove(DEMONSTRATIONS) == 4
    check(one)
    assert contents(one).actions.tolist() == [1, 2, 3, 4]
    assert one.get_state()["priorities"].tolist() == [before[action] for action in (1, 2, 3, 4)]
    assert set(one.sample(500, 1.0, generator).transitions.source) == {LIVE}
    one.push(make_transitions(5, first=5))
    check(one)
    assert contents(one).actions.tolist() == [2, 3, 4, 5, 6, 7, 8, 9]


def test_clearing_forgets_priorities_too() -> None:
    one = memory(alpha=1.0)
    one.push(make_transitions(3))
    one.update(np.arange(3), np.full(3, 100.0, dtype=np.float32))
    one.clear()
    assert len(one) == 0
    check(one)
    one.push(make_transitions(2))
    assert one.get_state()["priorities"].tolist() == [1.0, 1.0]


def test_a_million_transitions_of_atari_would_take_less_than_eight_gigabytes() -> None:
    capacity, size = 1024, 84 * 84
    one = TransitionMemory(capacity, ObservationSpec((4, 84, 84), "uint8"))
    frames = np.random.default_rng(0).integers(256, size=(512 + 4, 84, 84)).astype(np.uint8)
    for first in range(0, capacity + 512, 512):
        frames[:, 0, 0] = first // 512  # or it would be the same film again
        seen = np.stack([frames[i : i + 4] for i in range(513)])
        one.push(replace(make_transitions(512, first=first), observations=seen[:-1], next_observations=seen[1:]))
    store = one._columns["observations"]
    held = sum(map(getsizeof, store._frames)) + getsizeof(store._frames) + getsizeof(store._uses) + store._slots.nbytes
    assert capacity * size < held < 8e9 * capacity / 1e6
    assert one.sample(1, 1.0, np.random.default_rng(0)).transitions.observations.dtype == np.uint8


@pytest.mark.parametrize(("mass", "place"), [(0, 0), (0.999, 0), (1, 1), (3, 2), (5.9, 2), (6, 3), (9.999, 3)])
def test_a_mass_finds_the_place_that_covers_it(mass: float, place: int) -> None:
    tree = SumTree(4)
    tree.set(np.arange(4), np.array([1.0, 2.0, 3.0, 4.0]))
    assert tree.find(np.array([mass], dtype=np.float64)).tolist() == [place]


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
