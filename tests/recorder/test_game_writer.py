"""Games that a folder does not take are somewhere else, and a killed recorder's games are recorded by the next one."""

import shlex
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from qwop.common.errors import BadInput
from qwop.common.files import temporary_sibling
from qwop.datasets import Episode, open_dataset
from qwop.datasets.editing import copy
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.origin import Origin
from qwop.datasets.writer import DatasetWriter
from qwop.recorder.game_writer import GameWriter, record_interrupted
from qwop.recorder.main import record
from qwop.recorder.source import Source
from rich.console import Console

from ..fakes import game_of, until

INFO = qwop_info()


def game(frames: int, name: str | None = None) -> Episode:
    return game_of([5] * frames, INFO, origin=Origin(page_game=name))


def frames_in(folder: Path) -> list[int]:
    return [len(episode.keys_of_frames) for episode in open_dataset(folder)]


def copies(folder: Path) -> list[Path]:
    return [*folder.glob("aside/under-way-*/game-*.partial")]


@pytest.fixture(scope="module", autouse=True)
def pandas() -> None:
    """Arrow imports it with its first array, which takes a while."""
    pa.array(np.zeros(0))


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GameWriter:
    """Writes into a dataset whose disk is full."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    writer = DatasetWriter(tmp_path / "my games", INFO)

    def fail(episode: Any) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "write", fail)
    return GameWriter(writer)


def test_games_that_cannot_be_written_are_elsewhere_and_join_the_others_as_the_message_says(
    full: GameWriter, tmp_path: Path
) -> None:
    DatasetWriter(tmp_path / "my games", INFO).write(game(6))
    messages = set()
    for frames in (9, 12):
        with pytest.raises(BadInput, match=r"cannot be written \(no space left on device\)") as refused:
            full.write(game(frames))
        messages.add(str(refused.value))
    assert full.over
    with pytest.raises(BadInput, match="cannot be written"):
        full.wait()
    (folder,) = (tmp_path / "temporary").iterdir()
    (message,) = messages
    assert f"is in {folder}" in message
    copy.run(copy.command.read(shlex.split(message.partition("qwop-dataset copy ")[2])))
    assert frames_in(tmp_path / "my games-2") == [6, 9, 12]
    assert frames_in(tmp_path / "my games") == [6]


@pytest.mark.parametrize(
    ("noted", "message"), [(False, "is lost, all before it are kept"), (True, "kept as far as it was copied")]
)
def test_where_nothing_can_be_written_the_copy_alone_is_there(
    full: GameWriter, tmp_path: Path, noted: bool, message: str
) -> None:
    (tmp_path / "temporary").rmdir()
    if noted:
        full.note("one", lambda: game(9, "one"))
        assert until(lambda: copies(full.folder))
    with pytest.raises(BadInput, match=message):
        full.write(game(9, "one"))
    assert bool(copies(full.folder)) is noted


def test_games_in_progress_are_written_whatever_ends_the_recording(full: GameWriter, tmp_path: Path) -> None:
    def games() -> Iterator[Episode]:
        yield game(9)
        raise KeyboardInterrupt

    writer = GameWriter(DatasetWriter(tmp_path / "data", INFO))
    record(Source(INFO, games(), finish=lambda: writer.write(game(6))), writer, Console(quiet=True))
    assert frames_in(tmp_path / "data") == [9, 6]
    with pytest.raises(BadInput, match="cannot be written"):
        record(Source(INFO, iter([game(9)]), finish=lambda: full.write(game(3))), full, Console(quiet=True))
    (folder,) = (tmp_path / "temporary").iterdir()
    assert frames_in(folder) == [9, 3]


def test_no_game_is_asked_for_once_there_are_enough(tmp_path: Path) -> None:
    games = GameWriter(DatasetWriter(tmp_path, INFO), lambda episode: len(episode.keys_of_frames) > 6)
    Source(INFO, (game(frames) for frames in (3, 9, 6))).record(games)
    assert frames_in(tmp_path) == [3, 9]


def test_games_of_many_threads_are_written_one_at_a_time(tmp_path: Path) -> None:
    games = GameWriter(DatasetWriter(tmp_path, INFO))
    threads = [threading.Thread(target=games.write, args=[game(frames, str(frames))]) for frames in range(3, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(frames_in(tmp_path)) == [*range(3, 13)]


class Killed:
    """A recorder that is killed: what it wrote is there, and the copies of its games under way."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.games = folder, GameWriter(DatasetWriter(folder, INFO))

    def play(self, name: str, frames: int) -> None:
        before = {path: path.stat().st_mtime_ns for path in copies(self.folder)}
        self.games.note(name, lambda: game(frames, name))
        assert until(lambda: {path: path.stat().st_mtime_ns for path in copies(self.folder)} != before)

    def kill(self) -> None:
        presence = self.games._presence
        assert presence is not None
        presence.close()  # as the end of its process does


def test_games_under_way_are_recorded_by_the_next_recorder(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    killed.play("one", 9)
    killed.play("two", 12)
    killed.play("one", 15)
    assert record_interrupted(tmp_path) == []  # it lives
    killed.kill()
    assert record_interrupted(tmp_path) == ["games that a killed recorder left are recorded: 2"]
    assert sorted(frames_in(tmp_path)) == [12, 15]
    assert [*(tmp_path / "aside").glob("under-way-*")] == []
    assert record_interrupted(tmp_path) == []


def test_a_game_that_was_written_or_forgotten_leaves_no_copy(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    killed.play("one", 9)
    killed.play("two", 12)
    killed.games.write(game(15, "one"))
    killed.games.forget("two")
    assert copies(tmp_path) == []
    killed.games.close()
    assert [*(tmp_path / "aside").glob("under-way-*")] == []


@pytest.mark.parametrize(("recorded", "kept"), [(6, 9), (9, 9), (12, 12)])
def test_of_a_game_that_was_recorded_already_the_longest_copy_is_kept(tmp_path: Path, recorded: int, kept: int) -> None:
    """The page has sent it again, or the recorder was killed before it removed the copy."""
    DatasetWriter(tmp_path, INFO).write(game(recorded, "one"))
    killed = Killed(tmp_path)
    killed.play("one", 9)
    killed.play("two", 3)
    killed.kill()
    new = 1 + (kept > recorded)
    assert record_interrupted(tmp_path) == [f"games that a killed recorder left are recorded: {new}"]
    assert sorted(frames_in(tmp_path)) == [3, kept]
    assert len([*tmp_path.glob("aside/episode-*-discarded.aside")]) == new - 1
    assert copies(tmp_path) == []


def test_a_copy_that_cannot_be_read_is_told_and_stays_and_a_half_written_one_goes(tmp_path: Path) -> None:
    killed = Killed(tmp_path)
    killed.play("one", 9)
    killed.play("two", 12)
    damaged, other = sorted(copies(tmp_path))
    damaged.write_bytes(damaged.read_bytes()[:100])
    with temporary_sibling(other) as half_written:
        half_written.write_bytes(b"PAR1")
        killed.kill()
        notes = record_interrupted(tmp_path)
        assert not half_written.exists()
    assert str(damaged) in notes[0]
    assert frames_in(tmp_path) == [12]
    assert copies(tmp_path) == [damaged]
