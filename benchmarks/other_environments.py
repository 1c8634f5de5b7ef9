"""Other environments from demonstrations: record, clone, fine-tune, evaluate, for CartPole-v1 and LunarLander-v3.

    python benchmarks/other_environments.py --seeds 5 --out runs/other_environments

Needs Box2D (`pip install '.[box2d]'`). The demonstrator is trained from scratch and stopped early. Then, for every
seed: record twenty of its games with actions drawn from its probabilities, clone them, fine-tune the clone along
`kurodo` with these games in replay, and play a hundred greedy games with the clone and with the result. All commands
are printed. A step whose folder exists is not repeated, so the script can be stopped and started again. It ends with a
table.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Task:
    """wanted: mean return that counts as solved. training: length of the demonstrator's, as a fraction of 65 hours."""

    environment: str
    wanted: float
    training: float


TASKS = (Task("CartPole-v1", 475.0, 0.004), Task("LunarLander-v3", 200.0, 0.06))


FORMER = (
    "loop.num_envs=16", "loop.steps=128", "algorithm.epochs=8", "algorithm.minibatch=256",
    "algorithm.learning_rate=1e-3", "algorithm.entropy_coefficient=0.01", "algorithm.hidden=[256,128]",
)  # fmt: skip
"""Settings of `ppo-small` when the demonstrators of the published figures were trained."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=0.1, help="scale of the schedule")
    parser.add_argument("--out", type=Path, default=Path("runs/other_environments"))
    asked = parser.parse_args()
    lines = ["| | goal | demonstrator | its clones | fine-tuned | |", "|---|---|---|---|---|---|"]
    for task in TASKS:
        folder = asked.out / task.environment
        train_demonstrator(task, folder)
        for seed in range(asked.seeds):
            learn(folder, seed, asked.scale)
        lines.append(row(task, folder, range(asked.seeds)))
    (asked.out / "table.md").write_text("\n".join(lines) + "\n")
    print((asked.out / "table.md").read_text())


def train_demonstrator(task: Task, folder: Path) -> None:
    settings = ("policy=scratch", f"environment={task.environment}", "algorithm=ppo-small", *FORMER)
    schedule = ("+schedule=live-only", f"schedule.scale={task.training}", "video=false")
    step("qwop-finetune", folder / "demonstrator", *settings, *schedule)
    policy = folder / "demonstrator" / "policy.safetensors"
    step("qwop-evaluate", folder / "demonstrator-evaluation", f"policy={policy}", "video=false")


def learn(folder: Path, seed: int, scale: float) -> None:
    """The four commands of one seed."""
    demonstrator = folder / "demonstrator" / "policy.safetensors"
    games, clone, tuned = (folder / f"{name}-{seed}" for name in ("games", "clone", "fine-tuned"))
    twenty = ("source.player=demonstrator", "source.episodes=20", f"source.seed={seed}")
    step("qwop-record", games, "source=policy", f"source.policy={demonstrator}", *twenty, into="dataset")
    step("qwop-pretrain", clone, f"dataset={games}", f"seed={seed}", "games=0")
    start = (f"policy={clone / 'policy.safetensors'}", f"demonstrations={games}")
    schedule = ("algorithm=acer-small", "+schedule=kurodo-published", f"schedule.scale={scale}", f"seed={seed}")
    step("qwop-finetune", tuned, *start, *schedule, "evaluation.episodes=0", "video=false")
    for one in (clone, tuned):
        policy = one / "policy.safetensors"
        step("qwop-evaluate", folder / f"{one.name}-evaluation", f"policy={policy}", "video=false")


def step(command: str, folder: Path, *settings: str, into: str = "out") -> None:
    """Run a command that makes `folder`, unless it exists; until it is complete it has a temporary name."""
    if folder.exists():
        return
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    if unfinished.exists():
        shutil.rmtree(unfinished)
    print(shlex.join([command, *settings, f"{into}={folder}"]), flush=True)
    start = time.perf_counter()
    subprocess.run([command, *settings, f"{into}={unfinished}"], check=True, stdout=sys.stderr)
    (unfinished / "seconds.txt").write_text(f"{time.perf_counter() - start:.1f}\n")
    unfinished.rename(folder)


def row(task: Task, folder: Path, seeds: Sequence[int]) -> str:
    """Mean return of a hundred games, for every seed."""
    demonstrator = mean_return(folder / "demonstrator-evaluation")
    clones, tuned = (
        [mean_return(folder / f"{name}-{seed}-evaluation") for seed in seeds] for name in ("clone", "fine-tuned")
    )
    solved = sum(one >= task.wanted for one in tuned)
    told = [", ".join(f"{one:.0f}" for one in group) for group in ([demonstrator], clones, tuned)]
    return f"| {task.environment} | {task.wanted:.0f} | {' | '.join(told)} | {solved} of {len(tuned)} |"


def mean_return(folder: Path) -> float:
    return float(json.loads((folder / "evaluation.json").read_text())["mean_return"])


if __name__ == "__main__":
    main()
