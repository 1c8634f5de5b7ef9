"""Writing of games into a dataset, also of those under way, so that a killed recorder loses none."""

import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow.parquet as pq

from ..common.ends import Deferred
from ..common.errors import BadInput
from ..common.files import beside, temporary_sibling
from ..common.folder_lock import FolderLock, claimed
from ..common.run_folder import next_command
from ..datasets.columns import to_parquet
from ..datasets.folder import ASIDE, DESCRIPTION, episode_files, read_info, set_aside
from ..datasets.parquet import EpisodeFile, naming
from ..datasets.reader import open_dataset
from ..datasets.schema import DatasetInfo, Episode
from ..datasets.writer import DatasetWriter

UNDER_WAY = "under-way-"
"""Beginning of the names of folders with games under way, one for each recorder."""

EVERY = 0.5
"""Seconds between two copies of a game under way, at least."""

SHARE = 0.05
"""Share of the time that copies may take, at most: those of long games of pictures are large."""

Make = Callable[[], Episode | None]


class GameWriter:
    """Writes games as `DatasetWriter` does, one at a time, from any thread.

    A game under way lies in a `.partial` file, which `record_interrupted` reads after a kill. A game that cannot be
    written goes into a dataset in the folder of temporary files. enough: called with each game once it is written; true
    ends the recording.
    """

    def __init__(self, writer: DatasetWriter, enough: Callable[[Episode], bool] = lambda episode: False) -> None:
        self.folder = writer.folder
        self.on_game: Callable[[], object] = lambda: None
        """Called after each game."""
        self._writer, self._enough = writer, enough
        self._under_way = _UnderWay(writer.folder, writer.info)
        self._elsewhere: DatasetWriter | None = None
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._failure: BadInput | None = None

    @property
    def over(self) -> bool:
        """True once there are enough games, or one could not be written."""
        return self._over.is_set()

    def write(self, episode: Episode, game: object = None) -> Path:
        """Add an episode and return its path, once it is on the disk. game: as it was noted before, None for the only
        one. Ctrl-C waits.

        If that fails (a full disk, lost permissions, a missing folder), BadInput names the episode's new place.
        """
        with Deferred(patient=True) as signals, self._lock:
            partial = self._under_way.end(game)
            path = self._write(episode, partial)
            if partial is not None:
                partial.unlink(missing_ok=True)
            self.on_game()
            if self._enough(episode):
                self._over.set()
        signals.deliver()
        return path

    def note(self, game: object, make: Make) -> None:
        """Keep a copy of a game under way, within a second. make: the game so far, None if nothing is worth keeping;
        called in another thread."""
        self._under_way.note(game, make)

    def forget(self, game: object) -> None:
        """Remove the copy of a game that needs no recording."""
        if (partial := self._under_way.end(game)) is not None:
            partial.unlink(missing_ok=True)

    def wait(self) -> None:
        """Wait until the recording is over. BadInput of the game that could not be written."""
        while not self._over.wait(0.5):  # without a timeout, Ctrl-C would not interrupt it on every platform
            pass
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End the copying; games that were noted and neither written nor forgotten stay."""
        self._under_way.close()

    def _write(self, episode: Episode, partial: Path | None) -> Path:
        try:
            return self._writer.write(episode)
        except OSError as error:
            why = (error.strerror or type(error).__name__).lower()
            self._failure = BadInput(f"{self.folder}: cannot be written ({why}); {self._rescue(episode, partial)}")
        except BadInput as error:
            self._failure = error
        self._over.set()
        raise self._failure from None

    def _rescue(self, episode: Episode, partial: Path | None) -> str:
        try:
            if self._elsewhere is None:
                self._elsewhere = DatasetWriter(tempfile.mkdtemp(prefix="qwop-"), self._writer.info)
            self._elsewhere.write(episode)
        except (OSError, BadInput):
            if partial is not None and partial.exists():
                return "the game that has just ended is kept as far as it was copied; make room, then record again"
            return "the game that has just ended is lost, all before it are kept; make room, then record again"
        if partial is not None:
            partial.unlink(missing_ok=True)
        here, rescued = self.folder, self._elsewhere.folder
        both = next_command("qwop-dataset copy", dataset=here, others=[str(rescued)], out=beside(here, "2"))
        return (
            f"what could not be written is in {rescued}, a dataset of its own; make room, then put both together: "
            f"{both.removeprefix('next: ')}"
        )


class _UnderWay:
    """Copies of the games under way, in a folder of this recorder, written by a thread of their own."""

    def __init__(self, dataset: Path, info: DatasetInfo) -> None:
        self._info = info
        self._folder = dataset / ASIDE / f"{UNDER_WAY}{uuid4().hex[:8]}"
        self._presence: FolderLock | None = None
        self._names = (f"game-{number:06d}.partial" for number in itertools.count())
        self._paths: dict[object, Path] = {}
        self._changed: dict[object, Make] = {}
        self._lock = threading.Lock()
        self._copying = threading.Lock()
        self._work, self._closed = threading.Event(), threading.Event()

    def note(self, game: object, make: Make) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            if self._presence is None:
                folder = self._folder.with_name(f".{self._folder.name}")
                folder.mkdir(parents=True)
                self._presence = FolderLock(folder)
                folder.rename(self._folder)  # no other recorder finds it without the lock
                threading.Thread(target=self._copy, name="games under way", daemon=True).start()
            if game not in self._paths:
                self._paths[game] = self._folder / next(self._names)
            self._changed[game] = make
        self._work.set()

    def end(self, game: object) -> Path | None:
        """Copy this game no more; the path of its copy, None if it was never noted."""
        with self._copying, self._lock:  # a copy that is being written is finished
            self._changed.pop(game, None)
            return self._paths.pop(game, None)

    def close(self) -> None:
        self._closed.set()
        self._work.set()
        with self._copying, self._lock:
            if self._presence is not None:
                with suppress(OSError):
                    self._folder.rmdir()
                self._presence.close()

    def _copy(self) -> None:
        pause = 0.0
        while not self._closed.wait(pause):
            self._work.wait()
            self._work.clear()
            began = time.monotonic()
            with self._lock:
                games = [*self._changed]
            for game in games:
                with self._copying, suppress(OSError, BadInput):  # a full disk, which the game's end will report
                    self._copy_one(game)
            pause = max(EVERY, (time.monotonic() - began) / SHARE)

    def _copy_one(self, game: object) -> None:
        with self._lock:
            make, path = self._changed.pop(game, None), self._paths.get(game)
        episode = make() if make is not None and not self._closed.is_set() else None
        if episode is not None and path is not None:
            with temporary_sibling(path) as sibling:  # not synced: it is there whatever ends this process
                sibling.write_bytes(to_parquet(episode, self._info, 0))
                sibling.replace(path)


def record_interrupted(folder: Path) -> list[str]:
    """Write the games that killed recorders left under way in a dataset's folder; lines that say so."""
    folders = sorted(folder.glob(f"{ASIDE}/{UNDER_WAY}*")) if (folder / DESCRIPTION).exists() else []
    if not folders:
        return []
    writer, recorded, notes = DatasetWriter(folder, read_info(folder)), 0, []
    before = {*episode_files(folder).values()}
    for recorder in folders:
        with claimed(recorder) as mine:
            for path in sorted(recorder.glob("game-*.partial")) if mine else ():
                try:
                    recorded += _record(path, writer, before)
                except BadInput as error:
                    notes.append(f"a game that a killed recorder left is not recorded: {error}")
            if mine:
                for half_written in recorder.glob(".*"):
                    half_written.unlink()
                with suppress(OSError):  # some are left
                    recorder.rmdir()
    return [*notes, *([f"games that a killed recorder left are recorded: {recorded}"] if recorded else [])]


def _record(path: Path, writer: DatasetWriter, before: set[Path]) -> bool:
    """Write the game of which this is a copy, and remove the copy; false if the game is among those recorded before."""
    with naming(path), pq.ParquetFile(path) as parquet:
        file = EpisodeFile(path, writer.info, parquet)
        file.require_description()
        episode = file.episode()
    others = [*_others(episode, path, writer.folder, before)]
    destination = write_longest(episode, others, writer.write)
    path.unlink()
    return destination not in [other for other, _ in others]


def write_longest(episode: Episode, others: Sequence[tuple[Path, Episode]], write: Callable[[Episode], Path]) -> Path:
    """Write a game, and set aside what was recorded of its beginning; its path. others: that may be the same game. One
    that has all of it takes its place."""
    for path, other in others:
        if _begins_with(other, episode):
            return path
    destination = write(episode)
    for path, other in others:
        if episode.origin.page_game is not None and _begins_with(episode, other):
            set_aside(path, "discarded")
    return destination


def _others(episode: Episode, copy: Path, folder: Path, before: set[Path]) -> Iterator[tuple[Path, Episode]]:
    """Episodes that may be the same game: with the name that the page gave it, or written after its copy, by a recorder
    that was killed before it removed the copy."""
    name, since = episode.origin.page_game, copy.stat().st_mtime
    with suppress(BadInput):  # no game yet
        dataset = open_dataset(folder)
        for index, path in enumerate(dataset.files):
            same_name = name is not None and dataset.metadata(index)["origin"].get("page_game") == name
            if same_name or (path in before and path.stat().st_mtime >= since):
                yield path, dataset[index]


def _begins_with(whole: Episode, start: Episode) -> bool:
    """True if one is the beginning of the other, of the same player and origin."""
    if (whole.player, whole.source, whole.origin, whole.seed) != (start.player, start.source, start.origin, start.seed):
        return False
    if start.keys is not None:
        return np.array_equal(whole.keys_of_frames[: len(start.keys_of_frames)], start.keys_of_frames)
    return np.array_equal(whole.observations[: len(start) + 1], start.observations)
