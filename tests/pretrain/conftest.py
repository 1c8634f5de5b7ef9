"""A dataset of a player whose decisions can be learned."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qwop.datasets import DatasetInfo, DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

from ..fakes import episode_of

INFO = DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)), 2)


@pytest.fixture
def make_dataset(tmp_path: Path) -> Callable[[int], Path]:
    """A CartPole dataset of so many episodes: push to the side that the pole leans to."""

    def make(count: int) -> Path:
        random = np.random.default_rng(0)
        folder = tmp_path / f"player-{count}"
        writer = DatasetWriter(folder, INFO)
        for number in range(count):
            seen = random.normal(scale=[0.5, 0.5, 0.05, 0.5], size=(61, 4)).astype(np.float32)
            actions = (seen[:-1, 2] + 0.2 * seen[:-1, 3] > 0).astype(np.int16)
            writer.write(episode_of(seen, actions, source=f"game {number}"))
        return folder

    return make
