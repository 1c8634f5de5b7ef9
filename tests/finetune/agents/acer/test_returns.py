"""Bounds of values from the returns of episodes."""

from collections.abc import Callable

import numpy as np
import pytest
from qwop.finetune.agents.acer.agent import MARGIN, ReturnRange, discounted_returns
from qwop.finetune.experience.sequences import Sequences


def test_a_return_is_the_discounted_sum_of_what_follows() -> None:
    found = discounted_returns(np.array([1.0, 0.0, 2.0]), 0.9)
    np.testing.assert_allclose(found, [1 + 0.81 * 2, 1.8, 2.0])


def test_bounds_include_every_return_and_zero_with_a_margin() -> None:
    seen = ReturnRange(1)
    assert seen.bounds is None
    seen.add_episode(np.array([1.0, 0.0, 2.0]), 0.9)
    assert seen.bounds == pytest.approx((-MARGIN * 2.62, (1 + MARGIN) * 2.62))
    seen.add_episode(np.array([-3.0]), 0.9)
    assert seen.bounds == pytest.approx((-3 - MARGIN * 5.62, 2.62 + MARGIN * 5.62))


def played(make_sequences: Callable[..., Sequences], ends: list[tuple[int, int]]) -> Sequences:
    """Two games of four steps with a reward of 1 a step, ended by these steps."""
    one = make_sequences(2)
    one.rewards[:] = 1.0
    for stream, step in ends:
        one.terminated[stream, step] = True
    return one


def test_episodes_of_live_play_go_on_from_one_sequence_to_the_next(make_sequences: Callable[..., Sequences]) -> None:
    seen = ReturnRange(2)
    seen.add_live(played(make_sequences, []), 1.0)
    assert seen.bounds is None
    state = seen.get_state()
    for bounds in (seen, ReturnRange(2)):
        bounds.set_state(state)
        bounds.add_live(played(make_sequences, [(1, 0), (1, 3)]), 1.0)
        assert bounds.bounds == pytest.approx((-MARGIN * 5, (1 + MARGIN) * 5))
        bounds.add_live(played(make_sequences, [(0, 1)]), 1.0)
        assert bounds.bounds == pytest.approx((-MARGIN * 10, (1 + MARGIN) * 10))


def test_interrupted_episodes_and_other_environments_are_forgotten(make_sequences: Callable[..., Sequences]) -> None:
    seen = ReturnRange(2)
    seen.add_live(played(make_sequences, []), 1.0)
    seen.drop_partial_episodes()
    seen.add_live(played(make_sequences, [(0, 0)]), 1.0)
    assert seen.bounds == pytest.approx((-MARGIN, 1 + MARGIN))
    seen.restart()
    assert seen.bounds is None
