"""Decisions of episodes as rows, and splits by episode."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.datasets.behaviour_probabilities import RECORDED
from qwop.pretrain.clone import hold_out
from qwop.pretrain.rows import NONE, rows_of


def test_rows_are_the_decisions_in_order(make_dataset: Callable[[int], Path]) -> None:
    episodes = list(open_dataset(make_dataset(2)))
    rows = rows_of(episodes)
    assert len(rows) == 120
    np.testing.assert_array_equal(rows.observations[60:], episodes[1].observations[:-1])
    np.testing.assert_array_equal(rows.previous[60:], [NONE, *episodes[1].actions[:-1]])


def test_only_exact_probabilities_of_a_player_that_draws_count(make_dataset: Callable[[int], Path]) -> None:
    estimated = list(open_dataset(make_dataset(2)))
    assert rows_of(estimated).probabilities is None
    drawn = [replace(episode, mu_kind=RECORDED) for episode in estimated]
    found = rows_of(drawn).probabilities
    assert found is not None
    np.testing.assert_array_equal(found, np.concatenate([one.behaviour_probabilities for one in drawn]))
    assert rows_of([drawn[0], estimated[1]]).probabilities is None
    assert rows_of([estimated[0], drawn[1]]).probabilities is None
    greedy = [replace(one, behaviour_probabilities=np.eye(2, dtype=np.float32)[one.actions]) for one in drawn]
    assert rows_of(greedy).probabilities is None
    assert rows_of([drawn[0], greedy[1]]).probabilities is not None


@pytest.mark.parametrize(("count", "share", "held"), [(2, 0.9, 1), (10, 0.14, 1), (10, 0.16, 2), (60, 0.5, 30)])
def test_both_parts_are_disjoint_and_together_everything(count: int, share: float, held: int) -> None:
    train, held_out = hold_out(count, share, seed=3)
    assert len(held_out) == held
    assert sorted(train + held_out) == list(range(count))


def test_five_fifths_hold_out_every_episode_once_and_a_single_one_is_in_both_parts() -> None:
    assert hold_out(1, 0.2, seed=0) == ([0], [0])
    held_out = [number for part in range(5) for number in hold_out(40, 0.2, seed=3, part=part)[1]]
    assert sorted(held_out) == list(range(40))
