import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow.parquet as pq
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, open_dataset
from qwop.envs.spec import EnvironmentSpec, ObservationSpec


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_are_numbered_and_nothing_else_is_left(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    writer = DatasetWriter(tmp_path / "new" / "folder", info)
    paths = [writer.write(make_episode(seed=seed)) for seed in range(3)]
    assert [path.name for path in paths] == [f"episode-00000{number}.parquet" for number in range(3)]
    assert names(tmp_path / "new" / "folder") == ["SHA256SUMS", "dataset.json", *(path.name for path in paths)]


def test_numbers_are_stored_compactly(tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]) -> None:
    DatasetWriter(tmp_path, info).write(make_episode())
    columns = pq.ParquetFile(tmp_path / "episode-000000.parquet").metadata.row_group(0)
    encodings = {columns.column(i).path_in_schema: columns.column(i).encodings for i in range(columns.num_columns)}
    for name in ("observation.list.element", "behaviour_probabilities.list.element", "reward", "time"):
        assert "BYTE_STREAM_SPLIT" in encodings[name]
        assert "RLE_DICTIONARY" not in encodings[name]
    assert "RLE_DICTIONARY" in encodings["action"]


def test_numbering_continues_after_the_highest(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    first = DatasetWriter(tmp_path, info)
    for _ in range(3):
        first.write(make_episode())
    (tmp_path / "episode-000001.parquet").unlink()
    assert DatasetWriter(tmp_path, info).write(make_episode()).name == "episode-000003.parquet"


def test_a_file_of_another_writer_is_not_overwritten(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    slow, fast = DatasetWriter(tmp_path, info), DatasetWriter(tmp_path, info)
    theirs = fast.write(make_episode(seed=1))
    content = theirs.read_bytes()
    assert slow.write(make_episode(seed=2)).name == "episode-000001.parquet"
    assert theirs.read_bytes() == content


def test_the_games_of_another_writer_are_not_recorded_again(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    slow, fast = DatasetWriter(tmp_path, info), DatasetWriter(tmp_path, info)
    for number in range(3):
        fast.write(make_episode(seed=number))
    slow.write(make_episode(seed=9))
    fast.write(make_episode(seed=3))
    for number in (3, 0):  # the other's newest, and one that was passed before
        with pytest.raises(BadInput, match="another process is recording the same games; wait for it"):
            slow.write(make_episode(seed=number))
    fast.write(make_episode(seed=0))  # its own: the same game twice is its business
    assert [one.seed for one in open_dataset(tmp_path)] == [0, 1, 2, 9, 3, 0]


def test_a_file_system_without_hard_links_works(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> NoReturn:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    first, second = DatasetWriter(tmp_path, info), DatasetWriter(tmp_path, info)
    (tmp_path / ".episode-000001.parquet.claim").touch()  # of a writer that was killed
    written = [writer.write(make_episode(seed=seed)).name for seed, writer in enumerate((first, second, first))]
    assert written == ["episode-000000.parquet", "episode-000002.parquet", "episode-000003.parquet"]
    assert [episode.seed for episode in open_dataset(tmp_path)] == [0, 1, 2]
    assert not list(tmp_path.glob("*.partial"))


def test_a_disk_that_fails_leaves_no_file_of_that_name(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = DatasetWriter(tmp_path, info)

    def full(_: int) -> NoReturn:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            writer.write(make_episode())
    assert names(tmp_path) == ["SHA256SUMS", "dataset.json"]
    assert writer.write(make_episode()).name == "episode-000000.parquet"


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot sync a folder")
def test_an_episode_is_on_the_disk_once_it_is_written_and_so_is_its_name(
    tmp_path: Path,
    info: DatasetInfo,
    make_episode: Callable[..., Episode],
    synced: Callable[[Path], list[tuple[int, bool]]],
) -> None:
    path = tmp_path / "episode-000000.parquet"
    writer = DatasetWriter(tmp_path, info)
    found = synced(path)
    assert writer.write(make_episode()) == path
    assert found == [(path.stat().st_ino, False), (tmp_path.stat().st_ino, True)]


def test_a_dataset_with_other_settings_is_refused_naming_them(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    DatasetWriter(tmp_path, info).write(make_episode())
    other = DatasetInfo(
        EnvironmentSpec("QWOP-v1", {"frames_per_step": 4, "reward": "speed"}), ObservationSpec((71,)), 11
    )
    before = names(tmp_path)
    with pytest.raises(BadInput, match="other settings: frames_per_step is 3, not 4"):
        DatasetWriter(tmp_path, other)
    assert names(tmp_path) == before


def test_episodes_without_a_description_are_not_adopted(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    DatasetWriter(tmp_path, info).write(make_episode())
    (tmp_path / "dataset.json").unlink()
    with pytest.raises(BadInput, match=r"has episodes but no dataset\.json"):
        DatasetWriter(tmp_path, info)


def test_a_file_in_the_place_of_the_folder_is_bad_input(tmp_path: Path, info: DatasetInfo) -> None:
    (tmp_path / "taken").write_text("mine")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "inside"):
        with pytest.raises(BadInput, match="a file is in the way"):
            DatasetWriter(folder, info)
    assert (tmp_path / "taken").read_text() == "mine"


def test_an_episode_of_another_shape_is_refused(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    writer = DatasetWriter(tmp_path, info)
    images = np.zeros((6, 71), dtype=np.uint8)
    for wrong in (make_episode(shape=(70,)), make_episode(count=9), make_episode(observations=images)):
        with pytest.raises(ValueError, match=r"expected float32 \[71\] and 11"):
            writer.write(wrong)
    assert names(tmp_path) == ["SHA256SUMS", "dataset.json"]


def write_in_step(folder: str, info: DatasetInfo, episodes: list[Episode], together: Barrier) -> None:
    """Write each episode at the same moment as the other writer writes one."""
    writer = DatasetWriter(folder, info)
    for episode in episodes:
        together.wait(timeout=60)
        writer.write(episode)


def test_two_writers_at_once_lose_nothing(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode]
) -> None:
    fork = multiprocessing.get_context("fork")
    shares = [[make_episode(seed=100 * writer + number) for number in range(40)] for writer in range(2)]
    together = fork.Barrier(2)
    writers = [fork.Process(target=write_in_step, args=(str(tmp_path), info, share, together)) for share in shares]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    dataset = open_dataset(tmp_path)
    assert [path.name for path in dataset.files] == [f"episode-{number:06d}.parquet" for number in range(80)]
    seeds = [episode.seed for episode in dataset]
    assert [set(seeds[first : first + 2]) for first in range(0, 80, 2)] == [
        {one.seed, other.seed} for one, other in zip(*shares, strict=True)
    ]


def test_a_writer_that_starts_while_another_describes_the_folder_removes_nothing_of_it(
    tmp_path: Path, info: DatasetInfo, make_episode: Callable[..., Episode], monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[DatasetWriter] = []
    link = os.link

    def another_starts(partial: Path, name: Path) -> None:
        if not others:
            monkeypatch.setattr(os, "link", link)
            others.append(DatasetWriter(tmp_path, info))
        link(partial, name)

    monkeypatch.setattr(os, "link", another_starts)
    for seed, writer in enumerate((DatasetWriter(tmp_path, info), *others)):
        writer.write(make_episode(seed=seed))
    assert len(others) == 1
    assert len(open_dataset(tmp_path).files) == 2


ENDLESS = """
import sys
import numpy as np
from qwop.datasets import DatasetInfo, DatasetWriter, Episode
from qwop.envs.spec import EnvironmentSpec, ObservationSpec

steps = 2000
writer = DatasetWriter(sys.argv[1], DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec((8,)), 2))
for seed in range(10**6):
    numbers = np.random.default_rng(seed).standard_normal((steps + 1, 8)).astype(np.float32)
    actions, rewards, times = np.zeros(steps, np.int16), np.zeros(steps, np.float32), np.arange(steps + 1.0)
    probabilities = np.full((steps, 2), 0.5, np.float32)
    ending = (None, True, False, "terminated", "player", "source", "recorded", seed)
    writer.write(Episode(numbers, actions, probabilities, rewards, times, *ending))
    print(seed, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")
def test_kill_9_damages_no_episode_and_loses_no_finished_one(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    finished = 0
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(int(random.integers(1, 6))):
            assert process.stdout.readline()
            finished += 1
        process.send_signal(signal.SIGKILL)
        finished += len(process.stdout.read().splitlines())
        process.wait()
    dataset = open_dataset(tmp_path)
    assert len(dataset) - finished in (0, 1, 2, 3)  # at most one a run was named but not yet said to be
    for episode in dataset:
        numbers = np.random.default_rng(episode.seed).standard_normal((2001, 8)).astype(np.float32)
        assert np.array_equal(episode.observations, numbers)


def test_the_description_is_for_people_too(tmp_path: Path, info: DatasetInfo) -> None:
    DatasetWriter(tmp_path, info)
    assert json.loads((tmp_path / "dataset.json").read_text()) == {
        "schema_version": 2,
        "environment": {"id": "QWOP-v1", "settings": {"frames_per_step": 3, "reward": "speed"}},
        "observation_shape": [71],
        "observation_dtype": "float32",
        "actions": 11,
    }
