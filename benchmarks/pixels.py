"""Pictures a second of `QWOP-v1(observation="pixels")`, beside the games themselves and `render_mode="rgb_array"`.

    python benchmarks/pixels.py --seconds 5

Random play. Each figure is the best of `--repeats`, so that other work on the machine counts least. `drawing` is the
compiled function alone, in one thread; the others are decisions a second of a vector environment of 64 games, in as
many threads as it takes. The last column is the ratio to large pictures, which does not depend on the machine. With
`--picture docs/pixels.png` it draws the picture of the documentation instead.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import qwop  # noqa: F401  (registers the environments)
from PIL import Image
from qwop.envs import replay
from qwop.envs.pictures.drawing import Drawing
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.pixels import Pictures, observe_pictures
from qwop.policies.champion import keys_path

GAMES = 64
SHOWN = (0, 90, 150, 300, 600, 1100)
"""Frames of the champion's game in the picture of the documentation."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--picture", type=Path, help="write the picture of the documentation here, and measure nothing")
    options = parser.parse_args()
    states = replay(read_keys(keys_path("champion"))).states
    if options.picture is not None:
        Image.fromarray(contact_sheet(states[list(SHOWN)])).save(options.picture, optimize=True)
        return
    large = best(large_pictures(states), options.seconds, options.repeats)
    rows = [("rgb_array, 640 × 400, one thread", large)]
    for size, colour in ((84, False), (84, True), (36, True)):
        rate = best(small_pictures(states, size, colour), options.seconds, options.repeats)
        rows.append((f"drawing {size} × {size}{' × 3' if colour else ''}, one thread", rate))
    for task in ({}, {"observation": "pixels"}, {"observation": "pixels", "stack": 3, "size": 36, "colour": True}):
        rate = best(decisions(task), options.seconds, options.repeats)
        rows.append((f"decisions of {GAMES} games, {task or 'features'}", rate))
    print("| | a second | ratio |\n|---|---|---|")
    for name, rate in rows:
        print(f"| {name} | {rate:,.0f} | {rate / large:,.1f} |")


def best(work: Callable[[], int], seconds: float, repeats: int) -> float:
    """The most items a second; work does some and returns how many."""
    work()
    rates = []
    for _ in range(repeats):
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds / repeats:
            count += work()
        rates.append(count / (time.perf_counter() - start))
    return max(rates)


def small_pictures(states: Any, size: int, colour: bool) -> Callable[[], int]:
    pictures, rows = Pictures(len(states), 1, size, colour), np.ascontiguousarray(states.reshape(-1, 84))
    every = np.ones(len(states), dtype=np.bool_)

    def draw() -> int:
        pictures.draw(rows, every, every)
        return len(states)

    return draw


def large_pictures(states: Any) -> Callable[[], int]:
    drawing, sample = Drawing(), states[::100]

    def draw() -> int:
        for state in sample:
            drawing.picture(state, metres=0.0, seconds=0.0)
        return len(sample)

    return draw


def decisions(task: dict[str, Any]) -> Callable[[], int]:
    games = gymnasium.make_vec("QWOP-v1", num_envs=GAMES, **task)
    games.reset(seed=0)
    random = np.random.default_rng(0)

    def step() -> int:
        games.step(random.integers(11, size=GAMES))
        return GAMES

    return step


def contact_sheet(states: Any) -> Any:
    """Grey at 84 × 84 above colour at 36 × 36, enlarged to the same size."""
    grey = observe_pictures(states, size=84)[..., None].repeat(3, axis=-1).repeat(3, axis=1).repeat(3, axis=2)
    colour = observe_pictures(states, size=36, colour=True).repeat(7, axis=1).repeat(7, axis=2)
    gap = np.full((252, 6, 3), 255, dtype=np.uint8)

    def row(pictures: Any) -> Any:
        return np.concatenate([part for picture in pictures for part in (picture, gap)][:-1], axis=1)

    top = row(grey)
    return np.concatenate([top, np.full((6, top.shape[1], 3), 255, dtype=np.uint8), row(colour)])


if __name__ == "__main__":
    main()
