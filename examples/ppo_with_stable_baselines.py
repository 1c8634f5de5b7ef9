"""Train with Stable-Baselines3 on the compiled batch.

    pip install 'qwop[sb3]'
    python examples/ppo_with_stable_baselines.py --steps 1000000

`BatchVecEnv` steps all games in one compiled call. The reward is the one that trained the champion: metres gained, a
bonus for the finish, and penalties that keep the runner upright while it learns.
"""

import argparse

import torch
from qwop.envs.sb3 import BatchVecEnv
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

TASK = {"observation": "full", "frames_per_step": 2, "reward": "race", "shaping": 0.7, "time_limit": 30.0}


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
