"""Frames per second of the engine, of `QWOP-v1` and of its batches, and of another QWOP in Python, in one run.

    python benchmarks/engine.py

    git clone https://github.com/bicrick/qwop-python
    python benchmarks/engine.py --qwop-python qwop-python

Everything plays random keys, held for a few decisions, with four frames per decision. The engine's games end with a
fall and start again, and that time counts. With `--qwop-python`, the environment of that repository is measured too,
with the same keys and its own ends and resets, alone and as 256 games in Gymnasium's `SyncVectorEnv`; only environments
are measured then.
Every round goes through all lines, so that a disturbance affects all of them, and the ratio is taken in each. Compare
the ratios rather than the numbers. On a busy machine, `--processor-time` counts the time of this process only; it uses
a single thread.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import qwop.envs
from numpy.typing import NDArray
from qwop.envs.names import ACTION_KEYS, ACTIONS
from qwop.envs.qwop.vector import QWOPVectorEnv
from rich.console import Console
from rich.table import Table

FRAMES_PER_STEP = 4
HOLD = 3
QWOP_PYTHON_BATCH = 256
DECISIONS_OF_A_BATCH = 100
"""At least, of each game in a round: about twice as long as a game with random keys."""

BATCHES = (1, 4, 16, 64, 256, 1024, 4096)

clock = time.perf_counter

Round = Callable[[], tuple[int, float]]
"""Plays for a while and returns the frames played and the seconds taken."""


def random_actions(decisions: int, games: int) -> NDArray[np.int64]:
    """Actions int64 [decisions, games], each held for HOLD decisions."""
    actions = np.random.default_rng(0).integers(0, len(ACTION_KEYS), (decisions // HOLD + 1, games))
    return np.repeat(actions, HOLD, axis=0)[:decisions]


def replay_round() -> tuple[int, float]:
    keys = ACTION_KEYS[np.repeat(random_actions(200, 1)[:, 0], FRAMES_PER_STEP)]
    frames = 0
    began = clock()
    for _ in range(100):
        frames += len(qwop.envs.replay(keys).states) - 1
    return frames, clock() - began


def one_by_one() -> Round:
    environment = gymnasium.make("QWOP-v1", frames_per_step=FRAMES_PER_STEP)
    actions = random_actions(2000, 1)[:, 0]

    def play() -> tuple[int, float]:
        environment.reset(seed=0)
        frames = 0
        began = clock()
        for action in actions:
            _, _, terminated, truncated, info = environment.step(action)
            frames += info["frames"]
            if terminated or truncated:
                environment.reset()
        return frames, clock() - began

    return play


def batch(games: int, threads: int) -> Round:
    environment = QWOPVectorEnv(games, frames_per_step=FRAMES_PER_STEP, num_threads=threads)
    actions = random_actions(max(DECISIONS_OF_A_BATCH, 8000 // games), games)

    def play() -> tuple[int, float]:
        environment.reset(seed=0)
        frames = 0
        began = clock()
        for choices in actions:
            *_, infos = environment.step(choices)
            frames += int(infos["frames"].sum())
        return frames, clock() - began

    return play


def qwop_python(checkout: Path) -> dict[str, Round]:
    """The environment of that repository, one game and many. It gets the keys that ours gets."""
    sys.path.insert(0, str(checkout))
    from qwop_python.data import PHYSICS_TIMESTEP

    gymnasium.register("qwop_python/QWOP-v0", "qwop_python.qwop_env:QWOPEnv", max_episode_steps=1000)
    task: dict[str, Any] = {"id": "qwop_python/QWOP-v0", "frames_per_step": FRAMES_PER_STEP}
    single = gymnasium.make(**task)
    many = gymnasium.make_vec(**task, num_envs=QWOP_PYTHON_BATCH, vectorization_mode="sync")
    by_keys = single.get_wrapper_attr("get_keys_to_action")()
    numbers = np.array([by_keys[tuple(sorted(name.upper() if name != "none" else ""))] for name in ACTIONS])

    def one_by_one() -> tuple[int, float]:
        single.reset(seed=0)
        seconds, last = 0.0, 0.0
        began = clock()
        for action in numbers[random_actions(1000, 1)[:, 0]]:
            _, _, terminated, truncated, info = single.step(action)
            seconds, last = seconds + info["time"] - last, info["time"]
            if terminated or truncated:
                single.reset()
                last = 0.0
        return round(seconds / PHYSICS_TIMESTEP), clock() - began

    def batch() -> tuple[int, float]:
        many.reset(seed=0)
        seconds, last = 0.0, np.zeros(QWOP_PYTHON_BATCH)
        began = clock()
        for actions in numbers[random_actions(DECISIONS_OF_A_BATCH, QWOP_PYTHON_BATCH)]:
            infos = many.step(actions)[-1]
            seconds += np.maximum(infos["time"] - last, 0.0).sum()  # a reset sets the time to 0
            last = infos["time"]
        return round(seconds / PHYSICS_TIMESTEP), clock() - began

    return {"qwop-python": one_by_one, f"qwop-python, {QWOP_PYTHON_BATCH} in SyncVectorEnv": batch}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--qwop-python", type=Path, help="a checkout of bicrick/qwop-python")
    arguments = parser.parse_args()
    if arguments.processor_time:
        global clock
        clock = time.process_time
    batches: tuple[int, ...] = BATCHES
    lines: dict[str, Round] = {}
    if arguments.qwop_python is None:
        lines["replay (one game, every state kept)"] = replay_round
    else:
        batches = (QWOP_PYTHON_BATCH,)
        lines |= qwop_python(arguments.qwop_python)
    lines["QWOP-v1 one by one"] = one_by_one()
    for threads in (1,) if arguments.processor_time else (1, 2):
        lines |= {f"batch of {games}, {threads} thread{'s'[: threads - 1]}": batch(games, threads) for games in batches}
    for play in lines.values():
        play()
    rates: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(arguments.rounds):
        for name, play in lines.items():
            frames, seconds = play()
            rates[name].append(frames / seconds)
    first = next(iter(lines))
    table = Table(title=f"frames a second, {FRAMES_PER_STEP} frames a decision, {arguments.rounds} rounds")
    for title in ("", "best", "median", "µs a frame", f"times {first}", "range"):
        table.add_column(title, justify="left" if not title else "right")
    for name, mine in rates.items():
        best, median, ratios = max(mine), float(np.median(mine)), np.array(mine) / rates[first]
        spread = f"{ratios.min():.2f} to {ratios.max():.2f}"
        cells = (f"{best:,.0f}", f"{median:,.0f}", f"{1e6 / median:.2f}", f"{np.median(ratios):.2f}", spread)
        table.add_row(name, *cells)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
