"""Games of a search, as episodes, and the beginning of one that it continues."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.origin import Origin
from qwop.datasets.schema import Episode
from qwop.envs import replay
from qwop.envs.names import ACTION_KEYS, ACTIONS
from qwop.envs.qwop.keys_file import read_keys, write_keys
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.champion import keys_path
from qwop.search.games import opening_of, rank, searched_episode

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


def test_an_opening_is_the_game_up_to_its_metres(tmp_path: Path) -> None:
    keys = np.concatenate([np.zeros(4, np.uint8), read_keys(keys_path("champion"))])
    file = write_keys(tmp_path / "later.txt", keys, "later")
    idle, actions = opening_of(str(file), 1.0, environment())
    assert idle == int(np.flatnonzero(keys)[0]) >= 4
    np.testing.assert_array_equal(ACTION_KEYS[actions], keys[idle : idle + len(actions)])
    metres = replay(keys).states[:, 0, 0] / 10
    assert metres[idle + len(actions) - 1] < 1.0 <= metres[idle + len(actions)]


def test_an_opening_of_no_metres_is_empty() -> None:
    idle, actions = opening_of("champion", 0.0, environment())
    assert (idle, len(actions)) == (int(np.flatnonzero(read_keys(keys_path("champion")))[0]), 0)


def test_an_opening_consists_of_whole_decisions(tmp_path: Path) -> None:
    keys = np.repeat([0, 9, 6, 9, 6], [2, 6, 6, 6, 6]).astype(np.uint8)
    file = str(write_keys(tmp_path / "slow.txt", keys, "held for six frames"))
    metres = float(replay(keys).states[:, 0, 0].max()) / 10 - 1e-3
    idle, every_frame = opening_of(file, metres, environment())
    assert idle == 2
    for frames in (2, 3):
        _, actions = opening_of(file, metres, environment(frames))
        assert len(actions) == len(every_frame) // frames
        np.testing.assert_array_equal(np.repeat(actions, frames), every_frame[: frames * len(actions)])


def test_games_that_cannot_be_continued_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a game that does not come 200 m; lower opening_metres"):
        opening_of("champion", 200.0, environment())
    with pytest.raises(BadInput, match="its keys change within decisions of 4 frames"):
        opening_of("champion", 20.0, environment(4))
    three = write_keys(tmp_path / "three.txt", np.repeat([7, 0], [3, 40]).astype(np.uint8), "Q, W and O")
    metres = float(replay(read_keys(three)).states[3:, 0, 0].max()) / 10 - 1e-3
    with pytest.raises(BadInput, match="keys of no action are down together"):
        opening_of(str(three), metres, environment())


def test_actions_after_the_end_of_a_found_game_are_left_out() -> None:
    """O and P, held from the start, make the runner fall after 16 decisions."""
    episodes = [searched_episode(environment(3), np.full(count, 7), 0, "search", Origin()) for count in (16, 20)]
    assert [(len(one.actions), one.outcome) for one in episodes] == [(16, "fell")] * 2
    np.testing.assert_array_equal(episodes[0].observations, episodes[1].observations)
    assert episodes[1].behaviour_probabilities.shape == (16, 11)
