"""A person's reaction time, and rows of shared control."""

from dataclasses import replace

import numpy as np
import pytest
from qwop.datasets.behaviour_probabilities import RECORDED, smoothed
from qwop.datasets.control import Branch
from qwop.datasets.schema import Episode
from qwop.pretrain.rows import reaction, rows_of

from ..fakes import episode_of


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


def test_actions_go_with_what_was_seen_when_they_were_meant() -> None:
    rows = rows_of([late_game(2)], lag=2)
    assert len(rows) == 58
    assert np.array_equal(rows.observations[:, 0].astype(int), rows.actions)


def test_only_the_persons_actions_are_late() -> None:
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


def test_a_branch_counts_from_where_it_left() -> None:
    game = late_game(0, steps=6, actors=[0, 1, 0, 1, 0, 1])
    assert len(rows_of([replace(game, branch=Branch(0, 4))])) == 2
