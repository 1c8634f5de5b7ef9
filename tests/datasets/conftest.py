from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.datasets.behaviour_probabilities import smoothed
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

from ..fakes import dataset_of, episode_of, game_of


@pytest.fixture(scope="session")
def info() -> DatasetInfo:
    return DatasetInfo(
        EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "speed"}), ObservationSpec((71,)), 11
    )


@pytest.fixture(scope="session")
def make_episode() -> Callable[..., Episode]:
    """Make an episode of random numbers that fits `info`; keywords replace its fields."""

    def make(steps: int = 5, seed: int = 0, shape: tuple[int, ...] = (71,), count: int = 11, **fields: Any) -> Episode:
        random = np.random.default_rng(seed)
        actions = random.integers(count, size=steps).astype(np.int16)
        defaults: dict[str, Any] = {
            "observations": random.standard_normal((steps + 1, *shape)).astype(np.float32),
            "actions": actions,
            "behaviour_probabilities": smoothed(actions, count, 0.05),
            "rewards": random.standard_normal(steps).astype(np.float32),
            "times": np.cumsum(random.random(steps + 1)),
            "keys": tuple(random.integers(16, size=3).astype(np.uint8) for _ in range(steps)),
            "outcome": "fell",
            "player": "somebody",
            "source": "a test",
            "seed": seed,
            "metres": 12.5,
        }
        return episode_of(**{**defaults, **fields})

    return make


MakeGames = Callable[..., Path]


@pytest.fixture(scope="session")
def make_games() -> MakeGames:
    """Write games of QWOP, of random keys, into a folder: one for each number of frames. first: seed of the first."""

    def make(
        folder: Path, frames: Sequence[int] = (60, 90, 120, 150, 180), first: int = 0, player: str = "me", **task: Any
    ) -> Path:
        info = qwop_info(**{"frames_per_step": 3, "reward": "shaped", **task})
        for seed, count in enumerate(frames, first):
            keys = np.repeat(np.random.default_rng(seed).integers(16, size=100), 6)[:count]
            dataset_of(folder, info, game_of(keys, info, player=player))
        return folder

    return make
