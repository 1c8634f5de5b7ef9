"""Prioritised replay: what is drawn how often, with which weight, and what leaves."""

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
