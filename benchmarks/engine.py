"""Frames per second of the engine, of `QWOP-v1` and of its batches, beside Box2D through Python in the same run.

    pip install 'qwop[box2d]'
    python benchmarks/engine.py

Everything plays random keys, held for a few decisions, with four frames per decision. The engine's games end with a
fall and start again, and that time counts. The Box2D scene has no rules; it is rebuilt every 25 decisions, and that
time does not count. Each line is the best of several rounds, and every round goes through all lines, so that a
disturbance affects all of them. Compare the ratios rather than the numbers. On a busy machine, `--processor-time`
counts the time of this process only; it uses a single thread.
"""

import argparse
import time
from collections.abc import Callable

import gymnasium
import numpy as np
import qwop.envs
from numpy.typing import NDArray
from qwop.envs.names import ACTION_KEYS
from qwop.envs.qwop.vector import QWOPVectorEnv
from rich.console import Console
from rich.table import Table

FRAMES_PER_STEP = 4
DECISIONS_OF_A_SCENE = 25
HOLD = 3
BATCHES = (1, 4, 16, 64, 256, 1024, 4096)

clock = time.perf_counter

Round = Callable[[], tuple[int, float]]
"""Plays for a while and returns the frames played and the seconds taken."""


def random_actions(decisions: int, games: int) -> NDArray[np.int64]:
    """Actions int64 [decisions, games], each held for HOLD decisions."""
    drawn = np.random.default_rng(0).integers(0, len(ACTION_KEYS), (decisions // HOLD + 1, games))
    return np.repeat(drawn, HOLD, axis=0)[:decisions]


def box2d_round() -> tuple[int, float]:
    from box2d_scene import Box2DScene

    seconds = 0.0
    actions = random_actions(400, 1)[:, 0]
    for start in range(0, len(actions), DECISIONS_OF_A_SCENE):
        scene = Box2DScene()
        began = clock()
        for action in actions[start : start + DECISIONS_OF_A_SCENE]:
            scene.step(int(ACTION_KEYS[action]), FRAMES_PER_STEP)
        seconds += clock() - began
    return len(actions) * FRAMES_PER_STEP, seconds


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
    environment = QWOPVectorEnv(games, autoreset_mode="SameStep", frames_per_step=FRAMES_PER_STEP, num_threads=threads)
    actions = random_actions(max(20, 8000 // games), games)

    def play() -> tuple[int, float]:
        environment.reset(seed=0)
        frames = 0
        began = clock()
        for chosen in actions:
            *_, infos = environment.step(chosen)
            frames += int(infos["frames"].sum())
        return frames, clock() - began

    return play


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--processor-time", action="store_true")
    arguments = parser.parse_args()
    if arguments.processor_time:
        global clock
        clock = time.process_time
    lines: dict[str, Round] = {
        "Box2D through Python": box2d_round,
        "replay (one game, every state kept)": replay_round,
        "QWOP-v1 one by one": one_by_one(),
    }
    for threads in (1,) if arguments.processor_time else (1, 2):
        lines |= {f"batch of {games}, {threads} thread{'s'[: threads - 1]}": batch(games, threads) for games in BATCHES}
    best = dict.fromkeys(lines, 0.0)
    for play in lines.values():
        play()
    for _ in range(arguments.rounds):
        for name, play in lines.items():
            frames, seconds = play()
            best[name] = max(best[name], frames / seconds)
    table = Table(title=f"frames a second, {FRAMES_PER_STEP} frames a decision, best of {arguments.rounds} rounds")
    for title in ("", "frames/s", "µs a frame", "times Box2D"):
        table.add_column(title, justify="left" if not title else "right")
    for name, rate in best.items():
        table.add_row(name, f"{rate:,.0f}", f"{1e6 / rate:.2f}", f"{rate / best['Box2D through Python']:.2f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
