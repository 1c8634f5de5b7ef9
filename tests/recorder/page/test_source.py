"""`source=page` as the recorder opens it."""

from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets.writer import DatasetWriter
from qwop.recorder.page.source import PageSettings, open_page
from qwop.recorder.person import episode_of, person_info


def record(folder: Path, frames_per_step: int = 3) -> None:
    info = person_info(frames_per_step, "shaped", 0)
    keys = np.full(12, 1, np.uint8)
    DatasetWriter(folder, info).write(episode_of(keys, info, player="me", source="page", epsilon=0.05))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (PageSettings(epsilon=0), "source.epsilon=0"),
        (PageSettings(port=70000), "source.port=70000"),
        (PageSettings(frames_per_step=0), "frames_per_step=0"),
        (PageSettings(reward="fast"), "reward='fast'"),
        (PageSettings(observation_lag=2), "observation_lag=2"),
        (PageSettings(ghost="no/such/dataset"), "no/such/dataset"),
    ],
)
def test_wrong_settings_are_told_before_anything_is_opened(settings: PageSettings, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=said):
        open_page(settings, tmp_path / "dataset")
    assert list(tmp_path.iterdir()) == []


def test_a_dataset_of_other_settings_is_refused_saying_which(tmp_path: Path) -> None:
    record(tmp_path, frames_per_step=2)
    with pytest.raises(BadInput, match="frames_per_step is 2, not 3"):
        open_page(PageSettings(), tmp_path)


def test_says_where_to_play_and_knows_no_number_of_games(tmp_path: Path) -> None:
    source = open_page(PageSettings(open=False), tmp_path / "dataset")
    assert source.total is None
    assert source.notes[0].startswith("play at http://127.0.0.1:")
    assert source.info.environment.settings == {"frames_per_step": 3, "reward": "shaped", "observation_lag": 0}
