"""Plain DQN on FrozenLake-v1 and CartPole-v1, every seed of ten.

    python benchmarks/dqn_small.py --out runs/dqn_small

For every seed, `qwop-finetune` learns from scratch and `qwop-evaluate` plays greedily: 100 episodes of CartPole, which
counts as solved at a mean of 475, and 1,000 of FrozenLake. There each episode has at most 100 steps, in which the best
that any policy can do is 0.744, and one that does not count its steps 0.740. All commands are printed. A step whose
folder exists is not repeated, so the script can be stopped and started again. It ends with a table; what a policy is
worth on FrozenLake is in it once more, calculated from the transition table.
"""

import argparse
import json
import shlex
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from qwop.common.command import Command
from qwop.evaluation.command import main as evaluate
from qwop.finetune.main import main as finetune
from qwop.policies.files import load_policy
from qwop.policies.policy import Policy


@dataclass(frozen=True)
class Task:
    """scale: length of the schedule `alone`, as a fraction of 65 hours. episodes: of the evaluation. wanted: the return
    that counts as solved. settings: beside those of dqn-small and of the schedule."""

    environment: str
    scale: float
    episodes: int
    wanted: float
    settings: tuple[str, ...] = ()


TASKS = (
    Task(
        "FrozenLake-v1",
        0.03,
        1000,
        0.70,
        (
            "loop.target_every=500",
            "loop.overlap=true",
            "algorithm.hidden=[64]",
            "algorithm.learning_rate=2e-3",
            "algorithm.reward_scale=1",
            "algorithm.epsilon_end=0.2",
            "algorithm.epsilon_share=0.6",
        ),
    ),
    Task(
        "CartPole-v1",
        0.036,
        100,
        475.0,
        ("schedule.phases.alone.learning_rate=1", "schedule.phases.alone.weight_average=0.3"),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10), help="first seed, and the one after the last")
    parser.add_argument("--environments", nargs="+", default=[task.environment for task in TASKS])
    parser.add_argument("--out", type=Path, default=Path("runs/dqn_small"))
    asked = parser.parse_args()
    lines = ["| | goal | solved | mean ± standard error | each seed |", "|---|---|---|---|---|"]
    for task in TASKS:
        if task.environment in asked.environments:
            folder = asked.out / task.environment
            returns = [learn(task, folder, seed) for seed in range(*asked.seeds)]
            lines.append(row(task, returns))
            if task.environment == "FrozenLake-v1":
                policies = [load_policy(folder / f"run-{seed}" / "policy.safetensors") for seed in range(*asked.seeds)]
                values = [exact_value(policy) for policy in policies]
                lines.append(row(replace(task, environment="the same, calculated"), values))
    table = "\n".join(lines) + "\n"
    (asked.out / "table.md").write_text(table)
    print(table)


def learn(task: Task, folder: Path, seed: int) -> float:
    """Mean return of the greedy policy after training."""
    scratch = ("policy=scratch", f"environment={task.environment}", "algorithm=dqn-small", *task.settings)
    schedule = ("schedule=live-only", f"schedule.scale={task.scale}", f"seed={seed}", "evaluation.episodes=0")
    step(finetune, folder / f"run-{seed}", *scratch, *schedule)
    policy = folder / f"run-{seed}" / "policy.safetensors"
    step(
        evaluate, folder / f"evaluation-{seed}", f"policy={policy}", f"episodes={task.episodes}", f"seed={1000 + seed}"
    )
    found = json.loads((folder / f"evaluation-{seed}" / "evaluation.json").read_text())
    return float(found["mean_return"])


def step(command: Command[Any], folder: Path, *settings: str) -> None:
    """Run a command, in this process, that makes `folder`, unless it exists; until then it has a temporary name."""
    if folder.exists():
        return
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    if unfinished.exists():
        shutil.rmtree(unfinished)
    settings = (*settings, "video=false")
    print(shlex.join([command.program, *settings, f"out={folder}"]), flush=True)
    command.run(command.read([*settings, f"out={unfinished}"]))
    unfinished.rename(folder)


def exact_value(policy: Policy) -> float:
    """Probability that the greedy policy reaches FrozenLake-v1's goal within 100 steps, by its transition table."""
    table: Any = gymnasium.make("FrozenLake-v1").unwrapped.P  # type: ignore[attr-defined]
    chosen = policy.probabilities(np.eye(len(table), dtype=np.float32)).argmax(axis=1)
    here, reached = np.eye(len(table))[0], 0.0
    for _ in range(100):
        following = np.zeros(len(table))
        for state, action in enumerate(chosen):
            for probability, next_state, reward, ends in table[state][action]:
                reached += here[state] * probability * reward
                following[next_state] += 0.0 if ends else here[state] * probability
        here = following
    return float(reached)


def row(task: Task, returns: list[float]) -> str:
    values = np.array(returns)
    solved = int((values >= task.wanted).sum())
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    digits = 3 if task.wanted < 1 else 1
    each = ", ".join(f"{value:.{digits}f}" for value in returns)
    mean = f"{values.mean():.{digits}f} ± {error:.{digits}f}"
    return f"| {task.environment} | {task.wanted:g} | {solved} of {len(returns)} | {mean} | {each} |"


if __name__ == "__main__":
    main()
