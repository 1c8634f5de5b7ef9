"""Train with Stable-Baselines3 on the compiled batch.

    pip install 'qwop[sb3]'
    python examples/ppo_with_stable_baselines.py --steps 1000000

`BatchVecEnv` steps all games in one compiled call. The reward is the one that trained the champion: metres gained, a
bonus for the finish, and penalties that keep the runner upright while it learns.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from qwop.envs.qwop.vector import QWOPVectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices

TASK = {"observation": "full", "frames_per_step": 2, "reward": "race", "shaping": 0.7, "time_limit": 30.0}


class BatchVecEnv(VecEnv):
    """n games of `QWOP-v1` as a Stable-Baselines3 `VecEnv`; settings are those of `QWOPVectorEnv`.

    The info of a game that ended has the entries of `QWOPEnv`'s, as numbers, and Stable-Baselines3's
    `terminal_observation` and `TimeLimit.truncated`; wrap it in `VecMonitor` for returns and lengths.
    """

    def __init__(self, num_envs: int, **settings: Any) -> None:
        self.env = QWOPVectorEnv(num_envs, **settings)
        super().__init__(num_envs, self.env.single_observation_space, self.env.single_action_space)
        self._actions = np.zeros(num_envs, dtype=np.int64)

    def reset(self) -> NDArray[np.float32]:
        observations, _ = self.env.reset(seed=self._seeds)
        self._reset_seeds()
        return observations

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, batch = self.env.step(self._actions)
        ends = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(ends):
            last = {name: values[row] for name, values in batch["final_info"].items() if not name.startswith("_")}
            more = {"terminal_observation": batch["final_obs"][row], "TimeLimit.truncated": bool(truncated[row])}
            infos[row] = last | more
        return observations, rewards.astype(np.float32), ends, infos

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000_000, help="decisions to train for")
    parser.add_argument("--games", type=int, default=64, help="games at a time")
    parser.add_argument("--episodes", type=int, default=100, help="games to measure it by")
    parser.add_argument("--out", default="ppo.zip", help="where the model goes")
    arguments = parser.parse_args()

    torch.set_num_threads(1)  # faster than several for networks as small as this one
    games = VecMonitor(BatchVecEnv(arguments.games, **TASK))
    model = PPO("MlpPolicy", games, n_steps=128, batch_size=2048, seed=0, device="cpu", verbose=1)
    model.learn(total_timesteps=arguments.steps)
    model.save(arguments.out)
    observations = games.reset()
    returns: list[float] = []
    while len(returns) < arguments.episodes:
        actions, _ = model.predict(observations)
        observations, _, _, infos = games.step(actions)
        returns += [info["episode"]["r"] for info in infos if "episode" in info]
    print(f"mean return of {len(returns)} games: {sum(returns) / len(returns):.1f}")


if __name__ == "__main__":
    main()
