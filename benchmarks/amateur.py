"""Make the amateur's games, which ship with the package: rhythms of keys as people try them. Every game falls.

    python benchmarks/amateur.py data/amateur --seed 1

A player keeps to one rhythm at a beat of their own, unevenly, and now and then a finger slips.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from qwop.datasets import DatasetWriter
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.envs.names import KEY_O, KEY_P, KEY_Q, KEY_W

GAMES = 40

RHYTHMS = (
    (KEY_Q | KEY_P, KEY_W | KEY_O),
    (KEY_Q | KEY_P, KEY_W | KEY_O),  # the usual advice, and twice as frequent
    (KEY_Q, KEY_W, KEY_P, KEY_O),
    (KEY_Q | KEY_O, KEY_W | KEY_P),
    (KEY_W, KEY_Q | KEY_P, KEY_O),
    (KEY_Q | KEY_P, 0, KEY_W | KEY_O, 0),
)

SLIPS = 0.12
"""Share of chords in whose place one key or none is down."""

EPSILON = 0.05
"""Smoothing of the behaviour probabilities, as for a person."""

FRAMES = 1500
"""Frames that are pressed at least; all games end before."""


def games(seed: int) -> Iterator[NDArray[np.uint8]]:
    """Keys of each frame, uint8 [n], of `GAMES` games."""
    rng = np.random.default_rng(seed)
    for _ in range(GAMES):
        keys = [0] * int(rng.integers(3, 20))
        rhythm = RHYTHMS[int(rng.integers(len(RHYTHMS)))]
        beat = rng.uniform(6, 16)
        while len(keys) < FRAMES:
            for chord in rhythm:
                pressed = int(rng.choice([0, KEY_Q, KEY_W, KEY_O, KEY_P])) if rng.random() < SLIPS else chord
                keys += [pressed] * max(2, int(rng.normal(beat, 2.5)))
        yield np.array(keys, np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    writer = DatasetWriter(arguments.out, qwop_info(frames_per_step=3, reward="race"))
    for keys in games(arguments.seed):
        writer.write(
            episode_from_keys(keys, writer.info, player="amateur", source=Path(__file__).name, epsilon=EPSILON)
        )


if __name__ == "__main__":
    main()
