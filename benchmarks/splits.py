"""Splits of the champion's games and of the game found by search, in seconds from the first key to 10 … 80 m and to
the landing.

    python benchmarks/splits.py

A split ends with the first frame in which the game's own score has reached the distance.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from qwop.envs import replay
from qwop.envs.names import SCORE
from qwop.envs.pictures.video import seconds_from_first_key
from qwop.envs.qwop.keys_file import read_keys
from qwop.policies.champion import keys_path
from qwop.policies.files import load_policy
from qwop.policies.rollout import play

MARKS = (10, 20, 50, 80)
STARTS = {"rolling": 31, "any": 301}


def splits_of(keys: NDArray[np.uint8]) -> list[float]:
    """Seconds to each of `MARKS` and to the end of a finished game with these keys, uint8 [n]."""
    score = replay(keys).events[1:, SCORE]
    clock = seconds_from_first_key(keys[: len(score)])[1:]
    return [*(float(clock[np.argmax(score >= mark)]) for mark in MARKS), float(clock[-1])]


def champions_splits() -> Iterator[list[float]]:
    """Yield the splits of the champion's greedy game from each start, in the order of their idle frames."""
    starts = range(max(STARTS.values()))
    for game in play(load_policy("champion"), episodes=len(starts), seed=0, greedy=True, idle_frames=starts):
        assert game.keys is not None
        assert game.outcome == "finished"
        yield splits_of(np.concatenate(game.keys))


def main() -> None:
    def row(name: str, splits: NDArray[np.float64]) -> str:
        return f"{name:32}" + "".join(f"{seconds:8.2f}" for seconds in splits)

    print(f"{'':32}" + "".join(f"{place:>8}" for place in (*(f"{mark} m" for mark in MARKS), "landing")))
    games = np.array(list(champions_splits()))
    for name, count in STARTS.items():
        print(row(f"champion, {name} start, median", np.median(games[:count], axis=0)))
    print(row("champion, best game", games[games[:, -1].argmin()]))
    print(row("game found by search", np.array(splits_of(read_keys(keys_path("champion"))))))


if __name__ == "__main__":
    main()
