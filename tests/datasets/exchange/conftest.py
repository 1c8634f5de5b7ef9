from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.origin import Origin
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec


@pytest.fixture
def games(tmp_path: Path) -> Dataset:
    """A dataset of three games of QWOP that differ in length, start and ending."""
    info = qwop_info(frames_per_step=3, reward="speed")
    random = np.random.default_rng(0)
    writer = DatasetWriter(tmp_path / "games", info)
    for number, frames in enumerate((31, 45, 400)):
        keys = np.repeat(random.integers(16, size=frames // 3 + 1), 3)[:frames].astype(np.uint8)
        episode = episode_from_keys(keys, info, player=f"player {number}", source="a test ü", epsilon=0.05)
        origin = Origin(sha256="0123456789ab", game=number)
        writer.write(replace(episode, seed=number or None, max_idle_frames=30, origin=origin))
    return open_dataset(tmp_path / "games")


@pytest.fixture
def pictures(tmp_path: Path, make_episode: Callable[..., Episode]) -> Dataset:
    """A dataset of pictures, one episode terminated and one truncated."""
    info = DatasetInfo(EnvironmentSpec("Any-v0"), ObservationSpec((40, 36), "uint8"), 3)
    writer = DatasetWriter(tmp_path / "pictures", info)
    for seed, terminated in enumerate((True, False)):
        images = np.random.default_rng(seed).integers(256, size=(6, 40, 36), dtype=np.uint8)
        ending = {"terminated": terminated, "truncated": not terminated, "metres": None}
        writer.write(make_episode(count=3, seed=seed, observations=images, keys=None, **ending))
    return open_dataset(tmp_path / "pictures")
