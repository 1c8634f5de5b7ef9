"""Policies with a state: it is reset where an episode begins, and each game has its own."""

from collections.abc import Callable

import numpy as np
import pytest
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import ROWS, Policy
from qwop.policies.rollout import Game, play
from qwop.policies.state import put_rows, reset_rows, select_rows

CARTPOLE = EnvironmentSpec("CartPole-v1")

MakePolicy = Callable[[EnvironmentSpec], Policy]


def state_of(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(count), np.arange(6.0 * count).reshape(count, 2, 3)


def same(one: Game, other: Game) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("actions", "probabilities"))


def test_initial_rows_go_where_an_episode_begins_and_the_state_before_stays_as_it_was() -> None:
    state, initial = state_of(4), tuple(-1 - part for part in state_of(4))
    after = reset_rows(state, initial, np.array([False, True, False, True]))
    for part, first, now in zip(state_of(4), initial, after, strict=True):
        assert np.array_equal(now, np.stack([part[0], first[1], part[2], first[3]]))
    assert all(map(np.array_equal, state, state_of(4)))


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([2, 0]), np.array([True, False, True, True])])
def test_rows_are_taken_and_put_back_into_a_copy(rows: slice | np.ndarray) -> None:
    state = state_of(4)
    taken = select_rows(state, rows)
    assert all(np.array_equal(part[rows], mine) for part, mine in zip(state, taken, strict=True))
    blank = tuple(np.zeros_like(part) for part in state)
    put = put_rows(blank, rows, taken)
    assert all(map(np.array_equal, select_rows(put, rows), taken))
    assert put[0].sum() == taken[0].sum(), "another row changed"
    assert not any(part.any() for part in blank)


def test_probabilities_are_of_policies_without_a_state_alone(alternating: MakePolicy) -> None:
    policy = Policy(ActorCritic(4, 2), CARTPOLE, ObservationSpec((4,)))
    rows = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    probabilities, after = policy.step(rows, policy.initial_state(5))
    assert policy.initial_state(5) == after == ()
    assert np.array_equal(probabilities, policy.probabilities(rows))
    with pytest.raises(ValueError, match="alternating: a policy with a state"):
        alternating(CARTPOLE).probabilities(rows)


@pytest.mark.parametrize("count", [1, ROWS, 2 * ROWS + 5])
def test_a_step_does_not_depend_on_the_neighbours(alternating: MakePolicy, count: int) -> None:
    policy, random = alternating(CARTPOLE), np.random.default_rng(0)
    rows = random.normal(size=(count, 4)).astype(np.float32)
    state = random.integers(0, 9, (count, 1)), random.normal(size=(count, 4)).astype(np.float32)
    probabilities, after = policy.step(rows, state)
    assert [part.shape for part in after] == [(count, 1), (count, 4)]
    assert np.array_equal(after[0], state[0] + 1)
    alone, after_alone = policy.step(rows[-1:], select_rows(state, slice(count - 1, count)))
    assert np.array_equal(alone, probabilities[-1:])
    assert all(np.array_equal(mine[-1:], part) for mine, part in zip(after, after_alone, strict=True))


@pytest.mark.parametrize("environment", [CARTPOLE, EnvironmentSpec("QWOP-v1", {"time_limit": 3.0})])
def test_games_are_the_same_however_many_are_played_at_a_time(
    alternating: MakePolicy, environment: EnvironmentSpec
) -> None:
    policy = alternating(environment)
    one_by_one = list(play(policy, episodes=11, seed=2, greedy=False, num_envs=1))
    for num_envs in (3, 11):
        assert all(map(same, one_by_one, play(policy, episodes=11, seed=2, greedy=False, num_envs=num_envs)))
    assert len({game.actions.tobytes() for game in one_by_one}) > 5
