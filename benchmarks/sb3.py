"""A learner of Stable-Baselines3 with its defaults, in a row of `qwop-compare`: benchmarks/small.yaml.

    python benchmarks/sb3.py PPO environment=CartPole-v1 decisions=30000 seed=0 out=runs/ppo-0

Leaves `evaluation.json`: 100 greedy games, the first with the seed 1,000,000.
"""

import json
import sys
from pathlib import Path

import gymnasium
import numpy as np
import stable_baselines3

EPISODES, SEED = 100, 1_000_000


def main() -> None:
    name, *words = sys.argv[1:]
    settings = dict(word.split("=", 1) for word in words)
    learner = getattr(stable_baselines3, name)
    model = learner("MlpPolicy", settings["environment"], seed=int(settings["seed"]), device="cpu")
    model.learn(int(settings["decisions"]))
    env, games = gymnasium.make(settings["environment"]), []
    for episode in range(EPISODES):
        observation, _ = env.reset(seed=SEED + episode)
        total, over = 0.0, False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(int(action))
            total, over = total + float(reward), terminated or truncated
        games.append({"reward": total})
    evaluation = {
        "environment": {"id": settings["environment"]},
        "settings": {"greedy": True},
        "episodes": EPISODES,
        "mean_return": float(np.mean([game["reward"] for game in games])),
        "games": games,
        "decisions": int(settings["decisions"]),
    }
    folder = Path(settings["out"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evaluation.json").write_text(json.dumps(evaluation) + "\n")


if __name__ == "__main__":
    main()
