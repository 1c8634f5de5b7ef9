"""QWOP's compiled batch for Stable-Baselines3 (the extra `sb3`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices

from .qwop.vector import QWOPVectorEnv


class BatchVecEnv(VecEnv):
    """n games of `QWOP-v1` as a Stable-Baselines3 `VecEnv`: `PPO("MlpPolicy", BatchVecEnv(64, reward="race"))`.

    `settings` are those of `QWOPVectorEnv`. The info of a game that ended has the entries of `QWOPEnv`'s, as numbers,
    and Stable-Baselines3's `terminal_observation` and `TimeLimit.truncated`; wrap it in `VecMonitor` for returns and
    lengths.
    """

    def __init__(self, num_envs: int, **settings: Any) -> None:
        self.env = QWOPVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **settings)
        super().__init__(num_envs, self.env.single_observation_space, self.env.single_action_space)
        self._actions: NDArray[np.int64] | None = None

    def reset(self) -> NDArray[np.float32]:
        observations, _ = self.env.reset(seed=self._seeds)
        self._reset_seeds()
        return observations

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        if self._actions is None:
            raise RuntimeError("step_wait without step_async, which takes the actions")
        actions, self._actions = self._actions, None
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        done = terminated | truncated
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(done):
            last = {name: values[row] for name, values in infos["final_info"].items() if not name.startswith("_")}
            ends = {"terminal_observation": infos["final_obs"][row], "TimeLimit.truncated": bool(truncated[row])}
            told[row] = last | ends
        return observations, rewards.astype(np.float32), done, told

    def close(self) -> None:
        self.env.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        return self.env.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        raise NotImplementedError("the games of a batch share their attributes; give settings when making it")

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        raise NotImplementedError("the games of a batch have no methods of their own; see BatchVecEnv.env")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]
