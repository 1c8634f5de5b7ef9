"""Vectors of environments that reset in the same step."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector, played_values


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


class Telling(gymnasium.Env[Any, Any]):
    """Observes words."""

    observation_space = gymnasium.spaces.Text(10)
    action_space = gymnasium.spaces.Discrete(2)


def counting(*envs: Counting) -> SyncVectorEnv:
    return SyncVectorEnv([lambda env=env: env for env in envs], autoreset_mode=AutoresetMode.SAME_STEP)


def test_played_values_are_those_of_the_step_in_games_that_began_again_too() -> None:
    env = counting(Counting(1), Counting(3), Counting(5))
    env.reset(seed=0)
    for step in range(1, 7):
        *_, infos = env.step(np.zeros(3, dtype=np.int64))
        np.testing.assert_array_equal(played_values(infos, "count"), [1, (step - 1) % 3 + 1, (step - 1) % 5 + 1])
        assert played_values(infos, "metres") is None
    everyone = counting(Counting(1))
    everyone.reset(seed=0)
    np.testing.assert_array_equal(played_values(everyone.step(np.zeros(1))[4], "count"), [1])


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


def test_discrete_observations_are_one_hot() -> None:
    spec = EnvironmentSpec("FrozenLake-v1")
    env = make_vector(spec, 2)
    observations, _ = env.reset(seed=0)
    np.testing.assert_array_equal(observations, np.eye(16)[[0, 0]])
    assert spec.interface() == (ObservationSpec((16,)), 4)
    env.close()


def test_other_observations_are_refused_in_one_line() -> None:
    gymnasium.register("Told-v0", entry_point=Telling)
    try:
        with pytest.raises(BadInput, match=r"Told-v0\(\): its observations are Text.*expected a Box") as told:
            EnvironmentSpec("Told-v0").interface()
        assert "\n" not in str(told.value)
    finally:
        del gymnasium.registry["Told-v0"]


def test_an_environment_with_a_vector_form_alone_is_refused_with_what_it_lacks() -> None:
    vector = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"
    gymnasium.register("Many-v0", vector_entry_point=vector)
    try:
        with pytest.raises(BadInput, match=r"Many-v0: it is registered with a vector form alone, .* \(entry_point of"):
            make_vector(EnvironmentSpec("Many-v0"), 2)
    finally:
        del gymnasium.registry["Many-v0"]


def test_spaces_that_change_from_one_instance_to_the_next_are_told_in_one_line() -> None:
    sizes = iter(range(1, 9))

    def make() -> Counting:
        env = Counting(3)
        env.observation_space = gymnasium.spaces.Box(0, 1, (next(sizes),))
        return env

    gymnasium.register("Changing-v0", make)
    try:
        with pytest.raises(BadInput, match=r"environment Changing-v0\(\): cannot be made .*spaces are not equivalent"):
            make_vector(EnvironmentSpec("Changing-v0"), 2)
    finally:
        del gymnasium.registry["Changing-v0"]


def test_an_unknown_environment_and_no_environments_are_told_in_one_line() -> None:
    with pytest.raises(BadInput, match="NoSuchGame"):
        make_vector(EnvironmentSpec("NoSuchGame-v1"), 2)
    with pytest.raises(BadInput, match=r"CartPole-v1: no setting frames_per_step"):
        make_vector(EnvironmentSpec("CartPole-v1", {"frames_per_step": 3}), 2)
    with pytest.raises(BadInput, match=r"CartPole-v1: no setting id; leave it out"):
        make_vector(EnvironmentSpec("CartPole-v1", {"id": "QWOP-v1"}), 2)
    with pytest.raises(BadInput, match=r"QWOP-v1: speed: no such setting"):
        make_vector(EnvironmentSpec("QWOP-v1", {"speed": 3}), 2)
    with pytest.raises(BadInput, match="num_envs=0"):
        make_vector(EnvironmentSpec("CartPole-v1"), 0)
