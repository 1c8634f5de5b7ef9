from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.envs import replay
from qwop.envs.names import EVENT_COLUMNS, FEATURES
from qwop.envs.qwop.observations import observe_as
from qwop.envs.qwop.rewards import rewards_along

Arrays = dict[str, NDArray[Any]]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def arrays_of(keys: NDArray[Any], frames: int, absolute: bool) -> Arrays:
    """A game of the simulator as a published recording has it: a row for each decision, none after the last one."""
    played = replay(keys)
    states, score = played.states[:-1:frames], played.events[:-1:frames, EVENT_COLUMNS.index("score")]
    observations, x = observe_as("features", states).astype(np.float64), states[:, 0, 0]
    knees = observations[:, [FEATURES.index("joint.leftKnee"), FEATURES.index("joint.rightKnee")]]
    rewards = np.diff(score) if absolute else rewards_along("shaped", x, states[:, 0, 1], knees.min(axis=1))
    if absolute:
        observations[:, [name.endswith("position_x") for name in FEATURES]] += x[:, None]
    rewards = np.append(rewards, 0.125)
    return {
        "obs": observations,
        "actions": np.random.default_rng(0).integers(11, size=(len(x), 1)),
        "rewards": rewards,
        "episode_starts": np.arange(len(x)) == 0,
        "episode_returns": rewards.sum(keepdims=True),
    }


@pytest.fixture(scope="session")
def make_demo() -> Callable[..., Arrays]:
    """Make the arrays of a published recording of games by their keys, in either convention."""

    def make(*games: NDArray[Any], frames: int = 3, absolute: bool = False) -> Arrays:
        parts = [arrays_of(keys, frames, absolute) for keys in games]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    return make
