"""Vectors of environments that reset in the same step."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec
from qwop.envs.vector import SameStepVectorEnv, make_vector


class Counting(gymnasium.Env[Any, Any]):
    """Observes [the steps of this episode, the episodes before it]; ends after `length` steps."""

    observation_space = gymnasium.spaces.Box(0, 1e6, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int, truncates: bool = False) -> None:
        self.length, self.truncates = length, truncates
        self.count, self.episode = 0, -1

    def _observation(self) -> Any:
        return np.array([self.count, self.episode], np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count, self.episode = 0, self.episode + 1
        return self._observation(), {"draw": self.np_random.random()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        over = self.count == self.length
        info = {"count": self.count, "name": f"step {self.count}"}
        return self._observation(), float(action), over and not self.truncates, over and self.truncates, info


def test_an_episode_that_ends_is_reset_in_the_same_step() -> None:
    env = SameStepVectorEnv([Counting(2), Counting(3, truncates=True)])
    env.reset(seed=0)
    env.step(np.array([0, 1]))
    observations, rewards, terminations, truncations, infos = env.step(np.array([1, 0]))
    np.testing.assert_array_equal(observations, [[0, 1], [2, 0]])
    np.testing.assert_array_equal(rewards, [1, 0])
    np.testing.assert_array_equal(terminations, [True, False])
    np.testing.assert_array_equal(truncations, [False, False])
    np.testing.assert_array_equal(infos["_final_obs"], [True, False])
    np.testing.assert_array_equal(infos["final_obs"][0], [2, 0])
    observations, _, terminations, truncations, infos = env.step(np.array([1, 0]))
    np.testing.assert_array_equal(observations, [[1, 1], [0, 1]])
    np.testing.assert_array_equal(truncations, [False, True])
    np.testing.assert_array_equal(infos["final_obs"][1], [3, 0])
    assert infos["final_obs"].dtype == np.float32


def test_infos_describe_the_step_just_played_of_every_environment() -> None:
    env = SameStepVectorEnv([Counting(1), Counting(5)])
    env.reset(seed=0)
    for step in range(1, 4):
        *_, infos = env.step(np.array([0, 0]))
        np.testing.assert_array_equal(infos["count"], [1, step])
        assert list(infos["name"]) == ["step 1", f"step {step}"]
        assert infos["final_info"]["count"][0] == 1
        assert infos["final_info"]["_count"].tolist() == [True, False]


def test_final_entries_are_there_but_masked_while_every_game_goes_on() -> None:
    env = SameStepVectorEnv([Counting(3), Counting(3)])
    env.reset(seed=0)
    *_, infos = env.step(np.array([0, 0]))
    assert infos["final_obs"].shape == (2, 2)
    assert not infos["_final_obs"].any()
    assert not infos["_final_info"].any()


def test_environment_i_gets_the_seed_plus_i() -> None:
    _, infos = SameStepVectorEnv([Counting(3) for _ in range(3)]).reset(seed=7)
    alone = [Counting(3).reset(seed=7 + index)[1]["draw"] for index in range(3)]
    np.testing.assert_array_equal(infos["draw"], alone)


def test_a_reset_mask_leaves_the_others_where_they_are() -> None:
    env = SameStepVectorEnv([Counting(9), Counting(9)])
    env.reset(seed=0)
    env.step(np.array([0, 0]))
    observations, infos = env.reset(seed=[5, None], options={"reset_mask": np.array([True, False])})
    np.testing.assert_array_equal(observations, [[0, 1], [1, 0]])
    assert infos["draw"][0] == Counting(3).reset(seed=5)[1]["draw"]


def test_returned_observations_are_not_overwritten_by_the_next_step() -> None:
    env = SameStepVectorEnv([Counting(9)])
    first, _ = env.reset(seed=0)
    env.step(np.array([0]))
    np.testing.assert_array_equal(first, [[0, 0]])


def test_cartpole_in_a_vector_is_cartpole_alone() -> None:
    env = make_vector(EnvironmentSpec("CartPole-v1"), 3)
    alone = [gymnasium.make("CartPole-v1") for _ in range(3)]
    observations, _ = env.reset(seed=11)
    expected = np.stack([one.reset(seed=11 + index)[0] for index, one in enumerate(alone)])
    np.testing.assert_array_equal(observations, expected)
    generator = np.random.default_rng(0)
    for _ in range(60):
        actions = generator.integers(0, 2, 3)
        observations, rewards, terminations, truncations, infos = env.step(actions)
        for index, one in enumerate(alone):
            observation, reward, terminated, truncated, _ = one.step(actions[index])
            assert (reward, terminated, truncated) == (rewards[index], terminations[index], truncations[index])
            if terminated or truncated:
                np.testing.assert_array_equal(infos["final_obs"][index], observation)
                observation, _ = one.reset()
            np.testing.assert_array_equal(observations[index], observation)
    env.close()


def test_discrete_observations_are_batched_too() -> None:
    env = make_vector(EnvironmentSpec("FrozenLake-v1"), 2)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (2,)
    env.close()


def test_an_unknown_environment_and_no_environments_are_told_in_one_line() -> None:
    with pytest.raises(BadInput, match="NoSuchGame"):
        make_vector(EnvironmentSpec("NoSuchGame-v1"), 2)
    with pytest.raises(BadInput, match=r"CartPole-v1: no setting frames_per_step"):
        make_vector(EnvironmentSpec("CartPole-v1", {"frames_per_step": 3}), 2)
    with pytest.raises(BadInput, match=r"QWOP-v1: no setting speed"):
        make_vector(EnvironmentSpec("QWOP-v1", {"speed": 3}), 2)
    with pytest.raises(BadInput, match="num_envs=0"):
        make_vector(EnvironmentSpec("CartPole-v1"), 0)
