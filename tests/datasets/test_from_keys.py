"""Episodes from the keys of every frame, as a person played them, and again by replay for another task."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.datasets import Episode, embedded_dataset, open_dataset
from qwop.datasets.from_keys import (
    decision_action,
    effective_action,
    qwop_info,
    relabelled,
    replay_episode,
)
from qwop.envs import replay
from qwop.envs.names import ACTION_KEYS, ACTIONS
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.session import GameStart, Opening, PlayedGame
from qwop.policies.champion import keys_path

from ..fakes import dataset_of, game_of

INFO = qwop_info(frames_per_step=3, reward="shaped", observation_lag=0)

HELD = st.lists(st.tuples(st.integers(0, 15), st.integers(1, 20)), min_size=1, max_size=15)


def frames_of(held: list[tuple[int, int]]) -> Any:
    return np.repeat([keys for keys, _ in held], [frames for _, frames in held]).astype(np.uint8)


@given(held=HELD, frames=st.integers(1, 5), lag=st.integers(0, 1), reward=st.sampled_from(["speed", "shaped"]))
@settings(max_examples=30, deadline=None)
def test_an_episode_replays_exactly_and_equals_the_environments_observations(
    held: list[tuple[int, int]], frames: int, lag: int, reward: str
) -> None:
    keys = frames_of(held)
    info = qwop_info(frames_per_step=frames, reward=reward, observation_lag=lag)
    episode = game_of(keys, info)
    assert episode.keys is not None
    game, again = replay(keys), replay(np.concatenate(episode.keys))
    np.testing.assert_array_equal(game.states, again.states)

    env = QWOPEnv(frames_per_step=frames, reward=reward, observation_lag=lag)
    seen, _ = env.reset()
    np.testing.assert_array_equal(episode.observations[0], seen)
    for step, pressed in enumerate(episode.keys):
        for key in pressed:
            seen, *_, info_of_step = env.advance(int(key))
        np.testing.assert_array_equal(episode.observations[step + 1], seen)
        assert episode.times[step + 1] == info_of_step["clock"]
    assert episode.outcome == {"running": "stopped"}.get(info_of_step["outcome"], info_of_step["outcome"])
    assert episode.metres == info_of_step["distance"]


REWARDS: list[dict[str, Any]] = [{"reward": "shaped"}, {"reward": "race", "shaping": 0.5, "fall_penalty": 6.0}]


@given(
    held=st.lists(st.tuples(st.sampled_from(range(11)), st.integers(1, 6)), min_size=1, max_size=12),
    reward=st.sampled_from(REWARDS),
)
@example(held=[(ACTIONS.index("qp"), 100)], reward=REWARDS[1])  # falls
@settings(max_examples=20, deadline=None)
def test_keys_held_for_whole_decisions_are_those_actions_and_rewards(
    held: list[tuple[int, int]], reward: dict[str, Any]
) -> None:
    actions = np.repeat([action for action, _ in held], [steps for _, steps in held])
    env = QWOPEnv(frames_per_step=3, **reward)
    env.reset()
    rewards = []
    for action in actions:
        _, earned, terminated, _, _ = env.step(action)
        rewards.append(earned)
        if terminated:
            break
    info = qwop_info(frames_per_step=3, observation_lag=0, **reward)
    episode = game_of(np.repeat(ACTION_KEYS[actions], 3), info)
    np.testing.assert_array_equal(episode.actions, actions[: len(rewards)])
    np.testing.assert_array_equal(episode.rewards, np.float32(rewards))


def test_the_hurdles_way_is_paid_for_as_in_the_environment() -> None:
    keys = read_keys(keys_path("champion"))
    free, paid = (
        game_of(keys, qwop_info(frames_per_step=1, reward="race", push_penalty=price)) for price in (0.0, 2.0)
    )
    env = QWOPEnv(frames_per_step=1, reward="race", push_penalty=2.0)
    env.reset()
    rewards = [env.step(int(action))[1] for action in paid.actions]
    np.testing.assert_allclose(paid.rewards, rewards, atol=1e-6)
    assert free.rewards.sum() - paid.rewards.sum() > 1.0


def test_every_combination_of_keys_has_the_effect_of_its_action() -> None:
    """Tries all 16 combinations of keys in the middle of a game, and the action that stands for each."""
    opening = frames_of([(5, 9), (10, 9), (6, 5)])
    for keys in range(16):
        stands_for = ACTION_KEYS[effective_action(keys)]
        one = replay(np.append(opening, np.full(12, keys, np.uint8)))
        two = replay(np.append(opening, np.full(12, stands_for, np.uint8)))
        np.testing.assert_array_equal(one.states, two.states)


@pytest.mark.parametrize(("keys", "action"), [([0, 5, 5], "qo"), ([5, 5, 10], "qo"), ([5, 10], "wp"), ([1, 2, 4], "o")])
def test_a_decision_is_its_most_frequent_action_the_latest_winning_ties(keys: list[int], action: str) -> None:
    assert ACTIONS[decision_action(np.array(keys, np.uint8))] == action


def test_a_game_that_falls_has_ended_and_one_that_is_left_has_a_short_last_decision() -> None:
    fell = game_of(frames_of([(9, 300)]), INFO)
    assert (fell.outcome, fell.terminated, fell.truncated) == ("fell", True, False)
    assert sum(map(len, fell.keys or ())) < 300
    left = game_of(frames_of([(1, 7)]), INFO)
    assert (left.outcome, left.terminated, left.truncated) == ("stopped", False, True)
    assert [len(keys) for keys in left.keys or ()] == [3, 3, 1]
    assert left.mu == "smoothed(0.05)"
    assert left.behaviour_probabilities[0, 3] == pytest.approx(0.95 + 0.05 / 11)


START = GameStart((PlayedGame(np.repeat([9, 6], 60).astype(np.uint8)),), Opening(held=2), "fdlibm")
KEYS = np.repeat(np.tile([9, 6], 8), 9).astype(np.uint8)


def episode(frames_per_step: int = 3, start: GameStart | None = START, **task: object) -> Episode:
    info = qwop_info(frames_per_step=frames_per_step, **task)
    return game_of(KEYS, info, start=start)


def test_the_start_is_kept_in_the_file(tmp_path: Path) -> None:
    with_start, without = dataset_of(tmp_path, qwop_info(frames_per_step=3), episode(), episode(start=None))
    assert without.start is None
    assert with_start.start is not None
    assert with_start.start.to_json() == START.to_json()
    np.testing.assert_array_equal(replay_episode(with_start).states, START.session().play(KEYS).states)
    assert (replay_episode(with_start).states[0] != replay_episode(without).states[0]).any()


@settings(max_examples=10, deadline=None)
@given(
    st.integers(1, 5),
    st.sampled_from(["features", "full", "contact"]),
    st.sampled_from(["speed", "shaped", "race"]),
    st.integers(0, 1),
)
def test_a_game_relabels_to_any_rate_observation_and_reward(
    frames: int, observation: str, reward: str, lag: int
) -> None:
    info = qwop_info(frames_per_step=frames, observation=observation, reward=reward, observation_lag=lag)
    again = relabelled(episode(), info, 0.1)
    assert again.keys is not None
    np.testing.assert_array_equal(np.concatenate(again.keys), np.concatenate(episode().keys or ()))
    np.testing.assert_array_equal(replay_episode(again).states, replay_episode(episode()).states)
    assert len(again) == -(-len(np.concatenate(again.keys)) // frames)
    assert again.mu == "smoothed(0.1)"


def test_embedded_games_relabelled_as_they_were_are_the_same() -> None:
    game = open_dataset(embedded_dataset())[0]
    for observation in ("features", "full", "contact"):
        again = relabelled(game, qwop_info(frames_per_step=1, reward="race", observation=observation), 0.05)
        np.testing.assert_array_equal(again.actions, game.actions)
        np.testing.assert_array_equal(again.rewards, game.rewards)
        shared = again.observations.shape[1]
        np.testing.assert_array_equal(again.observations, game.observations[:, :shared])
        kept = "outcome terminated metres player source origin seed max_idle_frames created software_version"
        for name in kept.split():
            assert getattr(again, name) == getattr(game, name) is not None


def test_missing_keys_and_an_impossible_epsilon_are_refused() -> None:
    with pytest.raises(BadInput, match="has no keys"):
        replay_episode(replace(episode(), keys=None))
    for epsilon in (0, -0.1, 1.5, float("nan")):
        with pytest.raises(BadInput, match="epsilon="):
            game_of(KEYS, INFO, epsilon=epsilon)
