from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets import DatasetWriter, Episode, open_dataset
from qwop.datasets.verify import differences_of_replay
from qwop.envs import replay
from qwop.envs.qwop.observations import observe_as
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import save_policy
from qwop.policies.policy import Policy
from qwop.recorder.policy_source import open_policy
from qwop.recorder.settings import PolicySettings

from ..fakes import untrained

CARTPOLE = EnvironmentSpec("CartPole-v1")
QWOP = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "shaped"})


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_policy(tmp_path_factory.mktemp("policies") / "cartpole.safetensors", untrained(CARTPOLE)))


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_policy(tmp_path_factory.mktemp("policies") / "runner.safetensors", untrained(QWOP)))


def record(folder: Path, **settings: Any) -> list[Episode]:
    """Record 6 games into `folder`; return the episodes added."""
    source = open_policy(PolicySettings(**{"episodes": 6, **settings}), folder)
    writer = DatasetWriter(folder, source.info)
    paths = [writer.write(episode) for episode in source.episodes]
    dataset = open_dataset(folder)
    return [dataset[dataset.files.index(path)] for path in paths]


def by_number(episodes: list[Episode]) -> dict[int, Episode]:
    return {episode.origin.game: episode for episode in episodes if episode.origin.game is not None}


@pytest.mark.parametrize(
    ("environment", "observation"),
    [
        (CARTPOLE, ObservationSpec((4,))),
        (EnvironmentSpec("FrozenLake-v1", {"is_slippery": False}), ObservationSpec((16,))),
    ],
)
def test_games_of_any_environment_are_recorded_by_a_policy_with_a_state(
    tmp_path: Path,
    alternating: Callable[[EnvironmentSpec], Policy],
    environment: EnvironmentSpec,
    observation: ObservationSpec,
) -> None:
    policy = alternating(environment)
    file = save_policy(tmp_path / "policy.safetensors", policy)
    episodes = record(tmp_path / "dataset", policy=str(file), num_envs=3, player="it")
    assert open_dataset(tmp_path / "dataset").info.observation == observation
    assert len(episodes) == 6
    for episode in episodes:
        assert episode.observations.dtype == observation.dtype
        assert (episode.mu, episode.player, episode.metres) == ("recorded", "it", None)
        assert (episode.terminated, episode.outcome) == (True, "terminated")
        assert len({image.tobytes() for image in episode.observations}) > 1
        state = policy.initial_state(1)
        for seen, recorded in zip(episode.observations, episode.behaviour_probabilities, strict=False):
            probabilities, state = policy.step(seen[None], state)
            assert np.array_equal(probabilities[0], recorded)


def test_a_seed_decides_the_games_and_recording_again_continues_with_the_next(tmp_path: Path, cartpole: str) -> None:
    whole = by_number(record(tmp_path / "whole", policy=cartpole, episodes=9, num_envs=1))
    (other,) = record(tmp_path / "other", policy=cartpole, episodes=1, seed=4)
    assert not np.array_equal(other.observations[0], whole[0].observations[0])
    parts = tmp_path / "parts"
    first = by_number(record(parts, policy=cartpole, episodes=4))
    greedy = record(parts, policy=cartpole, episodes=2, greedy=True)  # other games, numbered apart
    for episode in greedy:
        assert np.array_equal(episode.behaviour_probabilities, np.eye(2, dtype=np.float32)[episode.actions])
    assert sorted(by_number(greedy)) == [0, 1]
    second = by_number(record(parts, policy=cartpole, episodes=5))
    assert sorted(first) == [0, 1, 2, 3]
    assert sorted(second) == [4, 5, 6, 7, 8]
    for number, episode in {**first, **second}.items():
        assert np.array_equal(episode.observations, whole[number].observations)


def test_a_game_of_qwop_replays_exactly_from_its_keys(tmp_path: Path, runner: str) -> None:
    record(tmp_path, policy=runner, episodes=1)
    games = record(tmp_path, policy=runner, episodes=3, max_idle_frames=20)
    assert sorted(by_number(games)) == [0, 1, 2]  # games with other idle frames are numbered apart
    for episode in games:
        assert episode.keys is not None
        frames = np.cumsum([len(keys) for keys in episode.keys])
        played = replay(np.concatenate(episode.keys))
        assert len(played.states) == frames[-1] + 1
        assert np.array_equal(observe_as("features", played.states[frames]), episode.observations[1:])
        assert played.states[-1, 0, 0] / 10 == episode.metres
        assert played.events[frames, -1] == pytest.approx(episode.times[1:])
        assert played.events[-1, 1] == (episode.outcome == "fell")
        assert [*differences_of_replay(episode, played, open_dataset(tmp_path).info)] == []


def test_games_can_be_recorded_with_another_reward(tmp_path: Path, runner: str) -> None:
    own = by_number(record(tmp_path / "own", policy=runner))
    fast = by_number(record(tmp_path / "fast", policy=runner, environment={"reward": "speed"}))
    assert open_dataset(tmp_path / "fast").info.environment == EnvironmentSpec(
        "QWOP-v1", {"frames_per_step": 3, "reward": "speed"}
    )
    for number, episode in own.items():
        assert np.array_equal(episode.actions, fast[number].actions)
        assert (fast[number].rewards >= 0).all()
        assert (episode.rewards < 0).any()
