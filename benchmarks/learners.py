"""Speed of the learners against Stable-Baselines3's, and against this project at another commit, one thread each.

    python benchmarks/learners.py
    python benchmarks/learners.py --tasks acer-qwop --against ../1942f13/.venv/bin/python

Each row is one task with the same settings on every side: games, rollout, batch, epochs, layers. Sides alternate, each
repetition in a process of its own, which trains for a while before it is timed. The tasks `…-defaults` have the sizes
that Stable-Baselines3 has unless told otherwise: one game, layers of 64 and 64, batches of 64 and 32. `--against` names
the Python of another checkout; `--more algorithm.precision=bfloat16` gives our side further settings. CleanRL is a
collection of scripts and no package, so it is left out.
"""

import argparse
import contextlib
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qwop.compare.runner import ONE_THREAD

QWOP = {"frames_per_step": 2, "reward": "race"}
"""Settings of the environment in the tasks on QWOP."""

STEPS = 128
"""Decisions of each game in an iteration of PPO on QWOP."""

HIDDEN = [256, 128]
"""Widths of PPO's layers on QWOP."""


@dataclass(frozen=True)
class Task:
    """settings: of `qwop-finetune`. theirs: class and arguments of Stable-Baselines3, if it has the algorithm. warm:
    decisions before the timing starts. decisions: those timed."""

    environment: str
    settings: tuple[str, ...]
    theirs: tuple[str, dict[str, Any]] | None
    games: int
    warm: int
    decisions: int


def ppo(minibatch: int, epochs: int, steps: int) -> tuple[str, ...]:
    return (
        "algorithm=ppo",
        f"algorithm.minibatch={minibatch}",
        f"algorithm.epochs={epochs}",
        f"loop.steps={steps}",
        "algorithm.target_kl=1000",
        "algorithm.gamma=0.99",
        "loop.overlap=false",
    )


def their_ppo(minibatch: int, epochs: int, steps: int, hidden: list[int]) -> tuple[str, dict[str, Any]]:
    layers = {"net_arch": hidden, "optimizer_kwargs": {"eps": 1e-5}}
    return "PPO", {
        "n_steps": steps, "batch_size": minibatch, "n_epochs": epochs, "learning_rate": 8e-4, "ent_coef": 0.01,
        "policy_kwargs": layers,
    }  # fmt: skip


DQN = (
    "algorithm=dqn-small",
    "loop.num_envs=8",
    "loop.overlap=false",
    "loop.batch_size=256",
    "loop.train_every=8",
    "loop.target_every=80",
)
DQN_DEFAULTS = (
    "algorithm=dqn-small",
    "algorithm.hidden=[64,64]",
    "loop.num_envs=1",
    "loop.overlap=false",
    "loop.batch_size=32",
    "loop.train_every=4",
    "loop.target_every=10000",
)
THEIR_DQN = {
    "learning_rate": 1e-3, "buffer_size": 100_000, "learning_starts": 1000, "batch_size": 256, "train_freq": 1,
    "gradient_steps": 1, "target_update_interval": 80, "policy_kwargs": {"net_arch": [256, 256]},
}  # fmt: skip

TASKS = {
    "ppo-cartpole": Task(
        "CartPole-v1",
        (*ppo(256, 8, 128), "loop.num_envs=16", "algorithm.hidden=[64,64]"),
        their_ppo(256, 8, 128, [64, 64]),
        games=16,
        warm=10_000,
        decisions=80_000,
    ),
    "ppo-qwop": Task(
        "QWOP-v1",
        (*ppo(2048, 3, STEPS), "loop.num_envs=64", f"algorithm.hidden={HIDDEN}".replace(" ", "")),
        their_ppo(2048, 3, STEPS, HIDDEN),
        games=64,
        warm=30_000,
        decisions=300_000,
    ),
    "dqn-cartpole": Task("CartPole-v1", DQN, ("DQN", THEIR_DQN), games=8, warm=5_000, decisions=40_000),
    "dqn-qwop": Task("QWOP-v1", DQN, ("DQN", THEIR_DQN), games=8, warm=5_000, decisions=40_000),
    "ppo-qwop-defaults": Task(
        "QWOP-v1",
        (*ppo(64, 10, 2048), "loop.num_envs=1", "algorithm.hidden=[64,64]"),
        their_ppo(64, 10, 2048, [64, 64]),
        games=1,
        warm=4_000,
        decisions=20_000,
    ),
    "dqn-qwop-defaults": Task(
        "QWOP-v1", DQN_DEFAULTS, ("DQN", {"learning_starts": 1000}), games=1, warm=2_000, decisions=10_000
    ),
    "acer-qwop": Task(
        "QWOP-v1",
        ("algorithm=acer", "loop.num_envs=32", "loop.steps=20", "loop.replay_ratio=1", "loop.overlap=false"),
        None,
        games=32,
        warm=30_000,
        decisions=150_000,
    ),
    "rlpd-cartpole": Task(
        "CartPole-v1", ("algorithm=rlpd-small", "loop.overlap=false"), None, games=4, warm=3_000, decisions=6_000
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--against", help="Python of another checkout, beside Stable-Baselines3")
    parser.add_argument("--more", nargs="+", default=[], help="further settings of ours")
    parser.add_argument("--child", nargs=2, metavar=("SIDE", "TASK"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        side, name = options.child
        task = replace(TASKS[name], settings=(*TASKS[name].settings, *options.more))
        print(json.dumps(their_run(task) if side == "theirs" else our_run(task)))
        return
    sides = {"ours": sys.executable}
    if options.against:
        sides["before"] = options.against
    sides["theirs"] = sys.executable
    compare(options.tasks, sides, options.repetitions, options.more)


def compare(tasks: list[str], sides: dict[str, str], repetitions: int, more: list[str]) -> None:
    print("| task | side | decisions per CPU second | per wall second | ours relative to it, CPU: median (range) |")
    print("|---|---|---:|---:|---|")
    for name in tasks:
        mine = {side: python for side, python in sides.items() if side != "theirs" or TASKS[name].theirs is not None}
        figures: dict[str, list[dict[str, Any]]] = {side: [] for side in mine}
        for _ in range(repetitions):
            for side, python in mine.items():
                ours = ["--more", *more] if more and side == "ours" else []
                figures[side].append(measure(python, side, name, *ours))
        for side, runs in figures.items():
            cpu, wall = ([run[kind] for run in runs] for kind in ("cpu", "wall"))
            pairs = [ours["cpu"] / other for ours, other in zip(figures["ours"], cpu, strict=True)]
            ratio = "" if side == "ours" else f"{statistics.median(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})"
            print(
                f"| {name} | {side} | {statistics.median(cpu):,.0f} | {statistics.median(wall):,.0f} | {ratio} |",
                flush=True,
            )


def measure(python: str, side: str, name: str, *ours: str) -> dict[str, Any]:
    """One repetition, in a process of its own with one thread."""
    command = [python, str(Path(__file__).resolve()), "--child", side, name, *ours]
    process = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return figures


class Clock:
    """Decisions per second between the first reading after `warm` decisions and the last."""

    def __init__(self, warm: int) -> None:
        self._warm = warm
        self._first: tuple[int, float, float] | None = None
        self._last = (0, 0.0, 0.0)

    def read(self, decisions: int) -> None:
        self._last = (decisions, time.process_time(), time.perf_counter())
        if self._first is None and decisions >= self._warm:
            self._first = self._last

    def rates(self) -> dict[str, float]:
        assert self._first is not None
        decisions, cpu, wall = (last - first for last, first in zip(self._last, self._first, strict=True))
        return {"cpu": decisions / cpu, "wall": decisions / wall}


class Over(Exception):
    """The end of a run that has been measured."""


def learn(settings: Sequence[str], after: Callable[[Any], None]) -> None:
    """`qwop-finetune` with these settings, from an untrained policy, until `after` raises `Over`. It is called with the
    loop after each iteration."""
    from qwop.commands import finetune
    from qwop.finetune.loop import Loop

    iterate = Loop._iterate

    @functools.wraps(iterate)
    def timed(loop: Any) -> None:
        iterate(loop)
        after(loop)

    Loop._iterate = timed  # type: ignore[method-assign]
    quiet = ["evaluation.episodes=0", "evaluation.drawn=0", "video=false"]
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Over):
        finetune.run(finetune.read([*settings, "policy=scratch", "schedule=live-only", f"out={folder}/run", *quiet]))


def our_run(task: Task) -> dict[str, Any]:
    """`qwop-finetune` with the task's settings."""
    one_thread_for_games()
    clock = Clock(task.warm)

    def after(loop: Any) -> None:
        clock.read(loop.decisions)
        if loop.decisions >= task.warm + task.decisions:
            raise Over

    settings = [*task.settings, f"environment={task.environment}"]
    if task.environment == "QWOP-v1":
        settings += [f"+schedule.phases.alone.environment.{name}={value}" for name, value in QWOP.items()]
    learn(settings, after)
    return clock.rates()


def their_run(task: Task) -> dict[str, Any]:
    """Stable-Baselines3 with the task's settings."""
    import stable_baselines3
    import torch

    sys.path.append(str(Path(__file__).parents[1] / "examples"))
    from ppo_with_stable_baselines import BatchVecEnv
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    one_thread_for_games()
    torch.set_num_threads(1)
    clock = Clock(task.warm)

    class Reading(BaseCallback):
        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:
            clock.read(self.num_timesteps)

    assert task.theirs is not None
    algorithm, settings = task.theirs
    games: Any
    if task.environment == "QWOP-v1":
        games = BatchVecEnv(task.games, **QWOP)
    else:
        games = make_vec_env(task.environment, n_envs=task.games)
    model = getattr(stable_baselines3, algorithm)("MlpPolicy", games, device="cpu", seed=0, **settings)
    model.learn(task.warm + task.decisions, callback=Reading(), log_interval=1000)
    return clock.rates()


def one_thread_for_games() -> None:
    """Let QWOP's batch use one thread."""
    if hasattr(os, "sched_setaffinity"):
        from qwop.envs.qwop import vector

        vector.cores = lambda: 1


if __name__ == "__main__":
    main()
