"""Episodes from keys, at any decision rate, and back: starts are kept, games relabel by replay."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.datasets import Episode, embedded_dataset, open_dataset
from qwop.datasets.from_keys import qwop_info, relabelled, replay_episode, states_along
from qwop.envs.names import ACTION_KEYS
from qwop.envs.qwop.session import GameStart, Opening, PlayedGame
from qwop.envs.qwop.vector import QWOPVectorEnv

from ..fakes import dataset_of, game_of

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


@pytest.mark.parametrize("observation", ["features", "full", "contact"])
def test_embedded_games_relabelled_as_they_were_are_the_same(observation: str) -> None:
    game = open_dataset(embedded_dataset())[0]
    info = qwop_info(frames_per_step=1, reward="race", observation=observation)
    again = relabelled(game, info, 0.05)
    np.testing.assert_array_equal(again.actions, game.actions)
    np.testing.assert_array_equal(again.rewards, game.rewards)
    shared = min(again.observations.shape[1], game.observations.shape[1])
    np.testing.assert_array_equal(again.observations[:, :shared], game.observations[:, :shared])
    assert (again.outcome, again.terminated, again.metres) == (game.outcome, game.terminated, game.metres)
    for name in ("player", "source", "origin", "seed", "max_idle_frames", "created", "software_version"):
        assert getattr(again, name) == getattr(game, name) is not None


def test_states_along_a_game_are_those_of_the_environment() -> None:
    made = episode(start=None)
    env = QWOPVectorEnv(1, frames_per_step=3)
    env.reset(seed=0)
    for state, action in zip(states_along(made), made.actions, strict=False):
        np.testing.assert_array_equal(state["reals"][:84].reshape(14, 6), env.states[0])
        env.step(np.array([action]))
    assert (made.actions < len(ACTION_KEYS)).all()


def test_wrong_frames_and_missing_keys_are_refused() -> None:
    made = episode()
    with pytest.raises(ValueError, match="increasing ones from 0"):
        states_along(made, [5, 3])
    with pytest.raises(BadInput, match="has no keys"):
        replay_episode(replace(made, keys=None))
