"""Episodes of plain arrays: one call, in the environment's own form, with defaults."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import qwop
from qwop.common.errors import BadInput
from qwop.datasets import open_dataset


def test_the_data_of_gymnasiums_loop_are_an_episode(tmp_path: Path) -> None:
    env = gymnasium.make("CartPole-v1")
    observations, actions, rewards, ends = [env.reset(seed=3)[0]], [], [], []
    while not ends or not ends[-1]:
        actions.append(env.action_space.sample())
        observation, reward, terminated, _, _ = env.step(actions[-1])
        observations.append(observation)
        rewards.append(reward)
        ends.append(terminated)
    for _ in range(2):
        path = qwop.write_episode(
            tmp_path,
            observations,
            actions,
            rewards,
            environment="CartPole-v1",
            terminated=ends,
            player="chance",
            seed=3,
        )
    assert path.name == "episode-000001.parquet"
    dataset = open_dataset(tmp_path)
    np.testing.assert_array_equal(dataset[0].observations, np.array(observations, np.float32))
    assert dataset[0].actions.tolist() == actions
    assert (dataset[0].terminated, dataset[0].truncated, dataset[0].outcome) == (True, False, "terminated")
    assert (dataset[0].player, dataset[0].seed, dataset[0].times[-1]) == ("chance", 3, len(actions))
    assert dataset[0].behaviour_probabilities[0].max() == pytest.approx(0.975)
    assert dataset.info.action_names == ("push left", "push right")


def test_what_is_left_out_takes_a_default(tmp_path: Path) -> None:
    qwop.write_episode(tmp_path, np.zeros((2, 4)), [1, 0], environment="CartPole-v1")
    qwop.write_episode(tmp_path, np.ones((3, 4)), [[1.0], [0.0]], truncated=True)  # the dataset names its environment
    first, second = open_dataset(tmp_path)
    assert first.observations.shape == (3, 4)
    assert first.rewards.tolist() == [0, 0]
    assert (first.terminated, first.truncated) == (False, True)
    assert second.actions.tolist() == [1, 0]


def test_discrete_observations_are_whole_numbers(tmp_path: Path) -> None:
    qwop.write_episode(tmp_path, [0, 4, 8], [1, 1], environment="FrozenLake-v1")
    assert open_dataset(tmp_path)[0].observations.argmax(1).tolist() == [0, 4, 8]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"actions": [0, 2]}, r"actions of row 1 are 2, expected what Discrete\(2\) has"),
        ({"actions": [0.5, 1]}, "actions are float64"),
        ({"observations": np.zeros((3, 5))}, r"observations have shape \[5\], expected float32 \[4\]"),
        ({"observations": np.zeros((5, 4))}, "observations have 5 rows, expected 3"),
        ({"observations": np.full((3, 4), np.nan)}, "not finite"),
        ({"rewards": [1.0]}, r"rewards are float64 \[1\], expected numbers \[2\]"),
        ({"terminated": [True, False]}, "terminated is true after decision 1, but the episode goes on to 2"),
        ({"environment": None}, "environment is not given"),
    ],
    ids=range(8),
)
def test_what_does_not_fit_is_named(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    whole: dict[str, Any] = {"observations": np.zeros((3, 4)), "actions": [0, 1], "environment": "CartPole-v1"}
    with pytest.raises(BadInput, match=said):
        qwop.write_episode(tmp_path / "new", **whole | given)
    assert not (tmp_path / "new").exists()
