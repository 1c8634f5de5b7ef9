"""Decisions of episodes as rows, splits by episode, shared control, and a person's reaction time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.datasets import open_dataset
from qwop.datasets.behaviour_probabilities import RECORDED, smoothed
from qwop.datasets.control import Branch
from qwop.datasets.schema import Episode
from qwop.pretrain.clone import hold_out
from qwop.pretrain.rows import NONE, reaction, rows_of

from ..fakes import episode_of


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


def test_parts_of_episodes_are_disjoint_and_together_everything_and_a_single_one_is_in_both() -> None:
    for count, share, length in ((2, 0.9, 1), (10, 0.14, 1), (10, 0.16, 2), (60, 0.5, 30)):
        train, held_out = hold_out(count, share, seed=3)
        assert len(held_out) == length
        assert sorted(train + held_out) == list(range(count))
    assert hold_out(1, 0.2, seed=0) == ([0], [0])
    fifths = [number for part in range(5) for number in hold_out(40, 0.2, seed=3, part=part)[1]]
    assert sorted(fifths) == list(range(40))


def late_game(lag: int, steps: int = 60, actors: list[int] | None = None) -> Episode:
    """A game in which action t is the number that was seen `lag` decisions earlier."""
    random = np.random.default_rng(1)
    seen = random.integers(3, size=steps + 1)
    actions = np.concatenate([random.integers(3, size=lag), seen[: steps - lag]]).astype(np.int16)
    who = None if actors is None else np.array(actors, dtype=np.int8)
    return episode_of(seen[:, None].astype(np.float32), actions, 3, actors=who)


def knows(observations: np.ndarray) -> np.ndarray:
    """A policy that does what it sees."""
    return np.eye(3, dtype=np.float32)[observations[:, 0].astype(int)] * 0.9 + np.float32(0.1 / 3)


@pytest.mark.parametrize("lag", [0, 2, 5])
def test_the_reaction_is_the_lag_that_explains_the_actions(lag: int) -> None:
    assert reaction([late_game(lag), late_game(lag, 40)], knows, 8) == lag


def test_a_policy_that_plays_another_way_and_its_own_decisions_tell_none() -> None:
    assert reaction([late_game(3)], lambda seen: knows((seen + 1) % 3), 8) == 0
    for own in (replace(late_game(3), mu_kind=RECORDED), late_game(3, actors=[0] * 60)):
        assert reaction([own], knows, 8) == 0


def test_decisions_that_a_branch_shares_with_another_game_are_not_measured() -> None:
    soon, late = (late_game(lag, actors=[1] * 60) for lag in (0, 3))  # of the same observations
    actions = np.concatenate([soon.actions[:45], late.actions[45:]])
    both = replace(soon, actions=actions, behaviour_probabilities=smoothed(actions, 3, 0.05))
    assert reaction([both], knows, 8) == 0
    assert reaction([replace(both, branch=Branch(0, 45))], knows, 8) == 3


def test_the_persons_actions_go_with_what_was_seen_when_they_were_meant() -> None:
    rows = rows_of([late_game(2)], lag=2)
    assert len(rows) == 58
    assert np.array_equal(rows.observations[:, 0].astype(int), rows.actions)
    game = late_game(2, actors=[0] * 30 + [1] * 30)
    rows = rows_of([game], lag=2)
    assert np.array_equal(rows.observations[:30], game.observations[:30])
    assert np.array_equal(rows.observations[30:], game.observations[28:58])


def test_shared_control_gives_weights_and_targets_by_who_acted() -> None:
    game = late_game(0, steps=4, actors=[0, 1, 0, 1])
    mu = np.full((4, 3), 1 / 3, dtype=np.float32)
    game = replace(game, behaviour_probabilities=mu, mu_kind="mixed", mu_epsilon=0.05)
    rows = rows_of([game], policy=0.5, person=2.0)
    assert rows.weights is not None
    assert rows.probabilities is not None
    assert rows.weights.tolist() == [0.5, 2.0, 0.5, 2.0]
    assert np.allclose(rows.probabilities[[0, 2]], 1 / 3)
    assert np.array_equal(rows.probabilities[[1, 3]], np.eye(3)[game.actions[[1, 3]]])
    assert len(rows_of([game], policy=0.0)) == 2
    assert len(rows_of([replace(game, branch=Branch(0, 3))])) == 1  # counts from where it left
