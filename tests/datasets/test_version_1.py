"""Datasets of version 1 open. The folder `version_1` was written by the last commit that wrote that version."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetWriter, open_dataset
from qwop.datasets.origin import Origin
from qwop.datasets.writer import to_parquet
from qwop.envs.spec import ObservationSpec

VERSION_1 = Path(__file__).parent / "version_1"


def test_a_game_that_was_left_is_truncated() -> None:
    left, fell, cut = open_dataset(VERSION_1)
    assert (left.terminated, left.truncated, left.outcome) == (False, True, "stopped")
    assert (fell.terminated, fell.truncated, fell.outcome) == (True, False, "fell")
    assert (cut.terminated, cut.truncated) == (False, True)


def test_source_and_start_become_fields() -> None:
    page, imported, policy = open_dataset(VERSION_1)
    assert (page.source, page.origin, page.max_idle_frames) == ("page", Origin(), None)
    assert (imported.source, imported.origin) == ("kuro", Origin(sha256="0123456789ab", game=7))
    assert imported.start is not None
    assert imported.start.opening.held == 2
    assert policy.source == "champion.safetensors"
    assert policy.origin == Origin(sha256="f425862fd2a9", game=61, seed=0, greedy=False)
    assert (policy.max_idle_frames, policy.seed) == (30, 5)
    assert open_dataset(VERSION_1).metadata(2)["start"]["max_idle_frames"] == 30


def test_it_can_be_summarised_and_joined() -> None:
    dataset = open_dataset(VERSION_1)
    assert dataset.summary().outcomes == {"fell": 1, "stopped": 2}
    assert dataset.arrow().count_rows() == sum(dataset.lengths() + 1)
    assert not dataset.steps().truncated.isna().all()


def test_it_is_not_added_to(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    shutil.copytree(VERSION_1, folder)
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(BadInput, match=r"a dataset of version 1, .*: qwop-dataset upgrade .* out="):
        DatasetWriter(folder, open_dataset(folder).info)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_files_from_before_images_hold_float32(tmp_path: Path) -> None:
    """They do not name the type of their observations."""
    folder = tmp_path / "older"
    shutil.copytree(VERSION_1, folder)
    description = json.loads((folder / "dataset.json").read_text())
    del description["observation_dtype"]
    (folder / "dataset.json").write_text(json.dumps(description))
    for path in folder.glob("*.parquet"):
        table = pq.ParquetFile(path).read()
        kept = {name: value for name, value in table.schema.metadata.items() if name != b"observation_dtype"}
        path.write_bytes(to_parquet(table.replace_schema_metadata(kept)))
    dataset = open_dataset(folder)
    assert dataset.info.observation == ObservationSpec((71,), "float32")
    assert "observation_dtype" not in dataset.metadata(0)
    assert len(dataset[0]) == 16
