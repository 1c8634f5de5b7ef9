"""Games that a folder does not take are somewhere else."""

import shlex
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import open_dataset
from qwop.datasets.editing import copy
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.writer import DatasetWriter
from qwop.recorder.main import record
from qwop.recorder.rescue_writer import RescuingWriter
from qwop.recorder.source import Source
from rich.console import Console

INFO = qwop_info()


def game(frames: int) -> Any:
    return episode_from_keys(np.full(frames, 5, np.uint8), INFO, player="me", source="page", epsilon=0.05)


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RescuingWriter:
    """Writes into a dataset whose disk is full."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    writer = DatasetWriter(tmp_path / "my games", INFO)

    def fail(episode: Any) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "write", fail)
    return RescuingWriter(writer)


def test_games_that_cannot_be_written_are_in_a_dataset_of_temporary_files(full: RescuingWriter, tmp_path: Path) -> None:
    said = set()
    for frames in (9, 12):
        with pytest.raises(BadInput, match=r"cannot be written \(no space left on device\)") as caught:
            full.write(game(frames))
        said.add(str(caught.value))
    assert len(said) == 1
    (folder,) = (tmp_path / "temporary").iterdir()
    assert f"is in {folder}" in said.pop()
    assert [sum(map(len, episode.keys or ())) for episode in open_dataset(folder)] == [9, 12]


def test_rescued_games_join_the_others_as_the_message_says(full: RescuingWriter, tmp_path: Path) -> None:
    DatasetWriter(tmp_path / "my games", INFO).write(game(6))
    with pytest.raises(BadInput, match="make room, then put both together") as caught:
        full.write(game(9))
    _, _, said = str(caught.value).partition("qwop-dataset copy ")
    copy.run(copy.command.read(shlex.split(said)))
    out = tmp_path / "my games-2"
    assert [sum(map(len, episode.keys or ())) for episode in open_dataset(out)] == [6, 9]
    assert len(open_dataset(tmp_path / "my games")) == 1


def test_where_nothing_can_be_written_the_game_is_said_to_be_lost(full: RescuingWriter, tmp_path: Path) -> None:
    (tmp_path / "temporary").rmdir()
    with pytest.raises(BadInput, match="the game that has just ended is lost, all before it are kept"):
        full.write(game(9))


def test_games_under_way_are_written_when_recording_is_interrupted(tmp_path: Path) -> None:
    def games() -> Any:
        yield game(9)
        raise KeyboardInterrupt

    source = Source(INFO, games(), finish=lambda: [game(6), game(3)])
    record(source, RescuingWriter(DatasetWriter(tmp_path, INFO)), Console(quiet=True))
    assert [sum(map(len, episode.keys or ())) for episode in open_dataset(tmp_path)] == [9, 6, 3]


def test_a_source_is_stopped_whatever_ends_the_recording(full: RescuingWriter, tmp_path: Path) -> None:
    stopped = []

    def stop() -> list[Any]:
        stopped.append(True)
        return [game(3)]

    with pytest.raises(BadInput, match="cannot be written"):
        record(Source(INFO, iter([game(9)]), finish=stop), full, Console(quiet=True))
    assert stopped == [True]
    (folder,) = (tmp_path / "temporary").iterdir()
    assert len(open_dataset(folder)) == 2
