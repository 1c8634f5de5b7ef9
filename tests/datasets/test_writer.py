"""Writing: numbers, several writers, and what a full disk leaves."""

import json
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow.parquet as pq
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.datasets.folder import set_aside
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

MakeEpisode = Callable[..., Episode]


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def numbers(folder: Path) -> list[int]:
    return [int(path.name[8:14]) for path in open_dataset(folder).files]


def test_the_description_is_for_people_too_and_numbers_are_stored_compactly(
    tmp_path: Path, info: DatasetInfo, make_episode: MakeEpisode
) -> None:
    folder = tmp_path / "new" / "folder"
    writer = DatasetWriter(folder, info)
    paths = [writer.write(make_episode(seed=seed)) for seed in range(3)]
    assert [path.name[:15] for path in paths] == [f"episode-00000{number}-" for number in range(3)]
    assert names(folder) == ["dataset.json", *(f"episodes/{path.name}" for path in paths)]
    found = json.loads((folder / "dataset.json").read_text())
    observed, taken = found["observation"].pop("names"), found["actions"].pop("names")
    assert found == {
        "version": 1,
        "environment": {"id": "QWOP-v1", "settings": {"frames_per_step": 3, "reward": "speed"}},
        "observation": {"shape": [71], "dtype": "float32"},
        "actions": {"count": 11},
    }
    assert (len(observed), observed[66], len(taken), taken[0]) == (71, "torso.angle", 11, "qw")
    columns = pq.ParquetFile(paths[0]).metadata.row_group(0)
    encodings = {columns.column(i).path_in_schema: columns.column(i).encodings for i in range(columns.num_columns)}
    for name in ("observation.list.element", "behaviour_probabilities.list.element", "reward", "timestamp"):
        assert "BYTE_STREAM_SPLIT" in encodings[name]
        assert "RLE_DICTIONARY" not in encodings[name]
    assert "RLE_DICTIONARY" in encodings["action"]


def test_numbering_continues_after_the_highest_and_what_was_set_aside_is_kept(
    tmp_path: Path, info: DatasetInfo, make_episode: MakeEpisode
) -> None:
    first = DatasetWriter(tmp_path, info)
    paths = [first.write(make_episode(seed=seed)) for seed in range(3)]
    content = paths[1].read_bytes()
    assert set_aside(paths[1], "discarded").name == f"{paths[1].stem}-discarded.aside"
    second = DatasetWriter(tmp_path, info)
    set_aside(second.write(make_episode(seed=8)), "discarded")
    second.write(make_episode(seed=9))  # nor does a writer give a number twice
    assert numbers(tmp_path) == [0, 2, 4]
    paths[1].write_bytes(content)  # put back, and set aside again
    set_aside(paths[1], "discarded")
    assert [path.read_bytes() for path in (tmp_path / "aside").iterdir()].count(content) == 2


def test_a_disk_that_fails_leaves_no_file(
    tmp_path: Path, info: DatasetInfo, make_episode: MakeEpisode, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = DatasetWriter(tmp_path, info)

    def full(_: int) -> NoReturn:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            writer.write(make_episode())
    assert names(tmp_path) == ["dataset.json"]
    writer.write(make_episode())
    assert numbers(tmp_path) == [0]


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot sync a folder")
def test_an_episode_is_on_the_disk_once_it_is_written_and_so_is_its_name(
    tmp_path: Path, info: DatasetInfo, make_episode: MakeEpisode, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, done, sync = DatasetWriter(tmp_path, info), list[tuple[int, list[str]]](), os.fsync

    def seen(descriptor: int) -> None:
        sync(descriptor)
        done.append((os.fstat(descriptor).st_ino, [path.name for path in tmp_path.rglob("episode-*.parquet")]))

    monkeypatch.setattr(os, "fsync", seen)
    path = writer.write(make_episode())
    assert done == [(path.stat().st_ino, []), (path.parent.stat().st_ino, [path.name])]


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("games", "other settings: frames_per_step is 4, not 3"),
        ("lost", r"has episodes but no dataset\.json"),
        ("linked", "episodes: a link, which may lead out of the dataset"),
        ("file", "a file is in the way"),
        ("file/inside", "a file is in the way"),
    ],
)
def test_a_folder_that_cannot_take_the_games_stays_as_it_is(
    tmp_path: Path, info: DatasetInfo, make_episode: MakeEpisode, folder: str, said: str
) -> None:
    settings = {"frames_per_step": 4, "reward": "speed"}
    for name in ("games", "lost"):
        other = DatasetInfo(EnvironmentSpec("QWOP-v1", settings), ObservationSpec((71,)), 11)
        DatasetWriter(tmp_path / name, other).write(make_episode())
    (tmp_path / "lost" / "dataset.json").unlink()
    for name in ("elsewhere", "linked"):
        (tmp_path / name).mkdir()
    (tmp_path / "linked" / "episodes").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("mine")
    before = names(tmp_path)
    with pytest.raises(BadInput, match=said):
        DatasetWriter(tmp_path / folder, info)
    assert names(tmp_path) == before


def test_an_episode_of_another_shape_is_refused(tmp_path: Path, info: DatasetInfo, make_episode: MakeEpisode) -> None:
    writer = DatasetWriter(tmp_path, info)
    for wrong in ({"shape": (70,)}, {"count": 9}, {"observations": np.zeros((6, 71), np.uint8)}):
        with pytest.raises(ValueError, match=r"expected float32 \[71\] and 11"):
            writer.write(make_episode(**wrong))
    assert names(tmp_path) == ["dataset.json"]


def write_in_step(folder: str, info: DatasetInfo, episodes: list[Episode], together: Barrier) -> None:
    """Write each episode at the same moment as the other writers write one; the folder, too, is made together."""
    together.wait(timeout=60)
    writer = DatasetWriter(folder, info)
    for episode in episodes:
        together.wait(timeout=60)
        writer.write(episode)


def test_three_writers_at_once_lose_nothing(tmp_path: Path, info: DatasetInfo, make_episode: MakeEpisode) -> None:
    fork = multiprocessing.get_context("fork")
    shares = [[make_episode(seed=100 * writer + number) for number in range(20)] for writer in range(3)]
    together, folder = fork.Barrier(3), tmp_path / "data"
    writers = [fork.Process(target=write_in_step, args=(str(folder), info, share, together)) for share in shares]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert numbers(folder) == [*range(60)]
    assert {one.seed for one in open_dataset(folder)} == {one.seed for share in shares for one in share}
    assert not [*(folder / "episodes").glob(".*")]
