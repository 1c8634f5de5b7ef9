"""Presets for small environments beside Stable-Baselines3's defaults, at equal decisions.

    pip install '.[train,box2d,sb3]'
    python benchmarks/small_environments.py --out runs/small_environments

Ours is `qwop-finetune algorithm=NAME environment=ID schedule.decisions=N seed=S`, and nothing else that learning
depends on. Theirs is `PPO("MlpPolicy", env, seed=S).learn(N)`, or DQN's, as installed. Both then play the same 100
episodes greedily. Every result is kept in `results.jsonl`, and one that is there is not computed again. It ends with a
table.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from qwop.commands import finetune
from qwop.envs.actions import Env
from qwop.policies.files import load_policy
from qwop.policies.rollout import play
from repeated import QUIET, Results, markdown

EPISODES = 100
"""Of an evaluation; their first seed is `SEED`."""

SEED = 1_000_000


@dataclass(frozen=True)
class Task:
    """An environment, the decisions that each learner has in it, and the learners."""

    environment: str
    decisions: int
    learners: tuple[str, ...] = ("ppo-small", "SB3 PPO")


TASKS = (
    Task("CartPole-v1", 30_000),
    Task("Acrobot-v1", 50_000),
    Task("FrozenLake-v1", 200_000),
    Task("LunarLander-v3", 300_000, ("ppo-small", "SB3 PPO", "dqn-small", "SB3 DQN")),
)


def ours(algorithm: str) -> Callable[[Task, int, Path], float]:
    """Train with a preset."""

    def learn(task: Task, seed: int, out: Path) -> float:
        folder = out / f"{algorithm}-{task.environment}-{seed}"
        line = [f"algorithm={algorithm}", f"environment={task.environment}", f"schedule.decisions={task.decisions}"]
        finetune.run(finetune.read([*line, f"seed={seed}", "device=cpu", *QUIET, f"out={folder}"]))
        games = play(load_policy(folder / "policy.safetensors"), episodes=EPISODES, seed=SEED, greedy=True)
        return float(np.mean([game.rewards.sum() for game in games]))

    return learn


def theirs(name: str) -> Callable[[Task, int, Path], float]:
    """Train an algorithm of Stable-Baselines3 with its defaults."""

    def learn(task: Task, seed: int, out: Path) -> float:
        import stable_baselines3

        model: Any = getattr(stable_baselines3, name)("MlpPolicy", task.environment, seed=seed, device="cpu")
        model.learn(task.decisions)
        env = gymnasium.make(task.environment)
        return float(np.mean([_greedy(model, env, SEED + episode) for episode in range(EPISODES)]))

    return learn


def _greedy(model: Any, env: Env, seed: int) -> float:
    """The return of an episode."""
    seen, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        action, _ = model.predict(seen, deterministic=True)
        seen, reward, terminated, truncated, _ = env.step(int(action))
        total, over = total + float(reward), terminated or truncated
    return total


LEARNERS = {
    "ppo-small": ours("ppo-small"),
    "dqn-small": ours("dqn-small"),
    "SB3 PPO": theirs("PPO"),
    "SB3 DQN": theirs("DQN"),
}
"""Ours, and theirs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 5), help="first seed, and the one after the last")
    parser.add_argument("--environments", nargs="+", default=[task.environment for task in TASKS])
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), help="all")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=Path("runs/small_environments"))
    asked = parser.parse_args()
    tasks = [
        replace(task, learners=tuple(name for name in task.learners if name in asked.learners))
        for task in TASKS
        if task.environment in asked.environments
    ]
    results = Results(asked.out)
    missing = [
        (asked.out, task, learner, seed)
        for task in sorted(tasks, key=lambda task: -task.decisions)  # the longest first
        for learner in reversed(task.learners)
        for seed in range(*asked.seeds)
        if not results.of(environment=task.environment, learner=learner, seed=seed)
    ]
    with multiprocessing.get_context("spawn").Pool(asked.jobs, torch.set_num_threads, (1,)) as pool:
        for row in pool.imap_unordered(_result, missing):
            print(json.dumps(row), flush=True)
            results.add(row)
    rows = []
    for task in tasks:
        for learner in task.learners:
            mine = results.of(environment=task.environment, learner=learner)
            cells = _cells([row for row in mine if row["seed"] in range(*asked.seeds)])
            rows.append([task.environment, f"{task.decisions:,}", learner, *cells])
    header = ["", "decisions", "learner", "mean of the seeds, lowest and highest", "processor time"]
    print(markdown(header, rows))


def _result(asked: tuple[Path, Task, str, int]) -> dict[str, Any]:
    """Learn, and return the row of the result."""
    out, task, learner, seed = asked
    since = time.process_time()
    mean_return = LEARNERS[learner](task, seed, out)
    row = {"environment": task.environment, "learner": learner, "seed": seed, "decisions": task.decisions}
    return row | {"mean_return": mean_return, "cpu_seconds": round(time.process_time() - since, 1)}


def _cells(rows: list[dict[str, Any]]) -> tuple[str, str]:
    """Mean, lowest and highest of the seeds, and seconds of processor time for one."""
    values = np.array([row["mean_return"] for row in rows])
    digits = 2 if np.abs(values).max() <= 1 else 1
    seconds = np.mean([row["cpu_seconds"] for row in rows])
    return f"{values.mean():.{digits}f} ({values.min():.{digits}f} to {values.max():.{digits}f})", f"{seconds:.0f} s"


if __name__ == "__main__":
    main()
