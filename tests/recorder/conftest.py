from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.names import FEATURES
from qwop.envs.qwop.rewards import rewards_along

Arrays = dict[str, np.ndarray[Any, Any]]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


FALLEN, STANDING = 6.0, -4.0
"""Height of the head in units (y grows downwards)."""


def invented_game(random: np.random.Generator, frames: Sequence[int], speed: float, head: float) -> tuple[Any, Any]:
    """Make absolute observations float64 [T + 1, 71] of bodies on smooth paths, and the torso's x at each row.

    `frames` [T]: how long each decision lasts; `speed` in units/s; `head`: its height at the end.
    """
    times = np.arange(-1, sum(frames) + 1) * 0.04
    rows = np.cumsum([1, *frames])

    def path(size: float) -> Any:
        period, phase = random.uniform(1, 3), random.uniform(0, 2 * np.pi)
        return size * np.sin(2 * np.pi * times / period + phase)

    table = np.zeros((len(rows), len(FEATURES)))
    torso_x = 2.5 + speed * (times - times[1]) + path(0.5)
    torso_x += 2.5 - torso_x[1]
    for column, name in enumerate(FEATURES):
        body, number = name.split(".")
        if number == "position_x":
            x = torso_x + (0 if body == "torso" else random.uniform(-5, 5) + path(0.5))
            y = random.uniform(-1, 1) + path(0.4)
            if body == "head":
                y = y + np.linspace(STANDING, head, len(y))
            table[:, column], table[:, column + 1] = x[rows], y[rows]
            table[:, column - 2], table[:, column - 1] = (np.diff(p)[rows - 1] / 0.04 for p in (x, y))
        elif number == "angle" or body == "joint":
            table[:, column] = path(1.2)[rows]
    return table, torso_x[rows]


@pytest.fixture(scope="session")
def make_demo() -> Callable[..., Arrays]:
    """Make the arrays of a published recording of invented games, in either convention."""

    def make(
        games: Sequence[tuple[Sequence[int], float, float]] = (((3, 4, 3, 3, 4, 3) * 5, 10.0, FALLEN),),
        absolute: bool = False,
        seed: int = 0,
    ) -> Arrays:
        random = np.random.default_rng(seed)
        arrays: dict[str, list[Any]] = {name: [] for name in ("obs", "actions", "rewards", "starts", "returns")}
        for frames, speed, head in games:
            table, x = invented_game(random, frames, speed, head)
            knee = table[:, [FEATURES.index("joint.leftKnee"), FEATURES.index("joint.rightKnee")]].min(axis=1)
            if absolute:
                rewards = np.diff(np.floor(x + 0.5)) / 10
            else:
                rewards = rewards_along("shaped", x, table[:, FEATURES.index("torso.position_y")], knee)
                table[:, [name.endswith("position_x") for name in FEATURES]] -= x[:, None]
            # The observation after the last action is not in such a file, but its reward is.
            arrays["obs"].append(table)
            arrays["rewards"].append(np.append(rewards, 0.125))
            arrays["actions"].append(random.integers(11, size=(len(x), 1)))
            arrays["starts"].append(np.arange(len(x)) == 0)
            arrays["returns"].append(arrays["rewards"][-1].sum())
        return {
            "obs": np.concatenate(arrays["obs"]),
            "actions": np.concatenate(arrays["actions"]),
            "rewards": np.concatenate(arrays["rewards"]),
            "episode_starts": np.concatenate(arrays["starts"]),
            "episode_returns": np.array(arrays["returns"]),
        }

    return make
