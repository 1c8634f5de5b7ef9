"""Prioritised replay: what is drawn how often, with which weight, and what leaves."""

from dataclasses import replace

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.envs.spec import ObservationSpec
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE
from qwop.finetune.experience.transitions import mixed
from qwop.finetune.replay.transition_memory import PrioritisedMemory, importance_weights

from ..transitions import make_transitions
from .contents import check, contents


def memory(capacity: int = 8, alpha: float = 0.6) -> PrioritisedMemory:
    return PrioritisedMemory(capacity, ObservationSpec((1,)), alpha)


@pytest.fixture
def generator() -> np.random.Generator:
    return np.random.default_rng(0)


P = [0.1482295, 0.2246739, 0.2865546, 0.3405420]


def test_importance_weights_of_the_reference() -> None:
    weights = importance_weights(np.array(P), 4, 0.4)
    assert weights == pytest.approx([1, 0.8467453, 0.7682294, 0.7169776], abs=1e-6)


def test_draws_follow_the_priorities(generator: np.random.Generator) -> None:
    one = memory()
    one.push(make_transitions(4))
    one.update(np.arange(4), np.array([1, -2, 3, -4], dtype=np.float32))
    draws = np.bincount(one.sample(100_000, 0.4, generator).transitions.actions, minlength=4)
    expected = 1e5 * np.array(P)
    assert ((draws - expected) ** 2 / expected).sum() < 16.27  # χ², 3 degrees of freedom, p = 0.001


def test_weights_belong_to_the_samples(generator: np.random.Generator) -> None:
    one = memory()
    one.push(make_transitions(4))
    one.update(np.arange(4), np.array([1, 2, 3, 4], dtype=np.float32))
    sample = one.sample(200, 0.4, generator)
    assert sample.weights == pytest.approx(
        np.array([1, 0.8467453, 0.7682294, 0.7169776])[sample.transitions.actions], abs=1e-6
    )


def test_every_place_can_be_drawn_the_newest_too(generator: np.random.Generator) -> None:
    one = memory(capacity=4)
    one.push(make_transitions(3))
    assert set(one.sample(200, 1.0, generator).transitions.actions) == {0, 1, 2}
    one.push(make_transitions(3, first=3))
    assert set(one.sample(200, 1.0, generator).transitions.actions) == {2, 3, 4, 5}


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


def test_the_oldest_leave_first() -> None:
    one = memory(capacity=4)
    for first in (0, 3, 6):
        one.push(make_transitions(3, first=first))
        check(one)
    assert contents(one).actions.tolist() == [5, 6, 7, 8]


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


def test_one_demonstration_to_two_live_ones_is_a_third_of_the_memory() -> None:
    one = memory(capacity=2000)
    for step in range(0, 600, 20):
        one.push(mixed(make_transitions(20, first=step), make_transitions(10, DEMONSTRATIONS)))
    assert len(one) == 900
    assert one.shares()["demonstrations"] == pytest.approx(300 / 900)


def test_its_state_puts_everything_back() -> None:
    one, other = memory(), memory()
    one.push(make_transitions(8))
    one.push(make_transitions(3, first=8))
    one.update(np.arange(8), np.linspace(0, 7, 8).astype(np.float32))
    other.set_state(one.get_state())
    check(other)
    draws = [m.sample(50, 0.5, np.random.default_rng(1)) for m in (one, other)]
    assert np.array_equal(draws[0].slots, draws[1].slots)
    assert np.array_equal(draws[0].weights, draws[1].weights)
    for each in (one, other):
        each.push(make_transitions(1, first=20))
    assert contents(one).actions.tolist() == contents(other).actions.tolist()
    assert one.get_state()["priorities"].tolist() == other.get_state()["priorities"].tolist()


def test_clearing_forgets_priorities_too() -> None:
    one = memory(alpha=1.0)
    one.push(make_transitions(3))
    one.update(np.arange(3), np.full(3, 100.0, dtype=np.float32))
    one.clear()
    assert len(one) == 0
    check(one)
    one.push(make_transitions(2))
    assert one.get_state()["priorities"].tolist() == [1.0, 1.0]


def test_too_many_at_once_do_not_fit() -> None:
    with pytest.raises(ValueError, match="9 items at once"):
        memory().push(make_transitions(9))


def test_images_stay_bytes(generator: np.random.Generator) -> None:
    def fresh() -> PrioritisedMemory:
        return PrioritisedMemory(8, ObservationSpec((2, 1, 1), "uint8"), 0.6)

    images = generator.integers(256, size=(2, 5, 2, 1, 1)).astype(np.uint8)
    one, other = fresh(), fresh()
    one.push(replace(make_transitions(5), observations=images[0], next_observations=images[1]))
    other.set_state(one.get_state())
    for each in (one, other):
        assert np.array_equal(contents(each).observations, images[0])
        drawn = each.sample(20, 1.0, np.random.default_rng(0)).transitions
        assert drawn.observations.dtype == drawn.next_observations.dtype == np.uint8
        assert np.array_equal(drawn.next_observations, images[1][drawn.actions])
