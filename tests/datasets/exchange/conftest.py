from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.origin import Origin
from qwop.datasets.reader import Dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

from ...fakes import dataset_of, game_of


@pytest.fixture
def games(tmp_path: Path) -> Dataset:
    """A dataset of three games of QWOP that differ in length, start and ending."""
    info = qwop_info(frames_per_step=3, reward="speed")
    random = np.random.default_rng(0)
    episodes = []
    for number, frames in enumerate((31, 45, 400)):
        keys = np.repeat(random.integers(16, size=frames // 3 + 1), 3)[:frames]
        episode = game_of(keys, info, player=f"player {number}", source="a test ü")
        origin = Origin(sha256="0123456789ab", game=number)
        episodes.append(replace(episode, seed=number or None, max_idle_frames=30, origin=origin))
    return dataset_of(tmp_path / "games", info, *episodes)


@pytest.fixture
def pictures(tmp_path: Path, make_episode: Callable[..., Episode]) -> Dataset:
    """A dataset of pictures, one episode terminated and one truncated."""
    info = DatasetInfo(EnvironmentSpec("Any-v0"), ObservationSpec((40, 36), "uint8"), 3)
    episodes = []
    for seed, terminated in enumerate((True, False)):
        images = np.random.default_rng(seed).integers(256, size=(6, 40, 36), dtype=np.uint8)
        ending = {"terminated": terminated, "truncated": not terminated, "metres": None}
        episodes.append(make_episode(count=3, seed=seed, observations=images, keys=None, **ending))
    return dataset_of(tmp_path / "pictures", info, *episodes)
