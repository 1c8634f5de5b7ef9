"""`source=page` as the recorder opens it."""

from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.writer import DatasetWriter
from qwop.recorder.page.browser_games import open_page
from qwop.recorder.settings import RecorderPageSettings


def record(folder: Path, frames_per_step: int = 3) -> None:
    info = qwop_info(frames_per_step=frames_per_step, reward="shaped", observation_lag=0)
    keys = np.full(12, 1, np.uint8)
    DatasetWriter(folder, info).write(episode_from_keys(keys, info, player="me", source="page", epsilon=0.05))


def test_a_dataset_with_other_settings_is_refused_naming_them(tmp_path: Path) -> None:
    record(tmp_path, frames_per_step=2)
    with pytest.raises(BadInput, match="frames_per_step is 2, not 3"):
        open_page(RecorderPageSettings(), tmp_path)


def test_the_address_is_printed_and_the_number_of_games_is_unknown(tmp_path: Path) -> None:
    source = open_page(RecorderPageSettings(open=False), tmp_path / "dataset")
    assert source.total is None
    assert source.notes[0].startswith("play at http://127.0.0.1:")
    assert source.info.environment.settings == {"frames_per_step": 3, "reward": "shaped", "observation_lag": 0}
