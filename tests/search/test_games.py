"""Games of a search, as episodes."""

from dataclasses import replace

import numpy as np
import pytest
from qwop.datasets.origin import Origin
from qwop.datasets.schema import Episode
from qwop.envs.names import ACTIONS
from qwop.envs.spec import EnvironmentSpec
from qwop.search.main import rank, searched_episode

NOTHING, Q = ACTIONS.index("none"), ACTIONS.index("q")


@pytest.mark.parametrize(("frames", "idle"), [(1, 0), (3, 4), (4, 0)])
def test_a_found_game_ends_at_the_time_limit_as_it_does_in_the_environment(frames: int, idle: int) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": frames, "time_limit": 2.0})
    env = spec.make()
    env.reset(options={"idle_frames": idle})
    rewards, truncated = [], False
    while not truncated:
        seen, reward, _, truncated, _ = env.step(NOTHING)
        rewards.append(reward)
    game = searched_episode(spec, np.full(100, NOTHING), idle, "search", Origin())
    np.testing.assert_array_equal(game.rewards, np.float32(rewards))
    np.testing.assert_array_equal(game.observations[-1], seen)
    assert (game.terminated, game.truncated) == (False, True)


def test_a_fast_finish_is_better_than_a_slow_one_and_both_than_a_long_way() -> None:
    def game(decisions: int, outcome: str, metres: float) -> Episode:
        made = searched_episode(EnvironmentSpec("QWOP-v1"), np.full(decisions, Q), 0, "search", Origin())
        return replace(made, outcome=outcome, metres=metres)

    games = [game(4, "finished", 99.0), game(5, "finished", 101.0), game(3, "fell", 60.0), game(2, "fell", 50.0)]
    assert sorted([games[place] for place in (2, 0, 3, 1)], key=rank) == games


def environment(frames: int = 1) -> EnvironmentSpec:
    return EnvironmentSpec("QWOP-v1", {"frames_per_step": frames})


def test_actions_after_the_end_of_a_found_game_are_left_out() -> None:
    """O and P, held from the start, make the runner fall after 16 decisions."""
    episodes = [searched_episode(environment(3), np.full(count, 7), 0, "search", Origin()) for count in (16, 20)]
    assert [(len(one.actions), one.outcome) for one in episodes] == [(16, "fell")] * 2
    np.testing.assert_array_equal(episodes[0].observations, episodes[1].observations)
    assert episodes[1].behaviour_probabilities.shape == (16, 11)
