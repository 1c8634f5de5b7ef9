"""Writing of games into a dataset, also of those under way, so that a killed recorder loses none."""

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq

from ..common.ends import Deferred
from ..common.errors import BadInput
from ..common.files import beside, temporary_sibling
from ..common.folder_lock import FolderLock, claimed
from ..common.run_folder import next_command
from ..datasets.folder import ASIDE, DESCRIPTION, episode_files, read_info, set_aside
from ..datasets.parquet import episode_of, naming, read_episode, table_of, to_parquet
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


def new_name() -> str:
    """Twelve digits that name a game."""
    return uuid4().hex[:12]


class GameWriter:
    """Writes games as `DatasetWriter` does, one at a time, from any thread.

    A game with a name (`Origin.page_game`) is recorded once: the longest copy of it counts, and a shorter one is set
    aside. While it is under way, it lies in a `.partial` file, which `record_interrupted` reads after a kill; a thread
    writes these, into a folder of this recorder. A game that cannot be written goes into a dataset in the folder of
    temporary files. enough: called with each game once it is written; true ends the recording.
    """

    def __init__(self, writer: DatasetWriter, enough: Callable[[Episode], bool] = lambda episode: False) -> None:
        self.folder, self.info = writer.folder, writer.info
        self.on_game: Callable[[], object] = lambda: None
        """Called after each game."""
        self._writer, self._enough = writer, enough
        self._elsewhere: DatasetWriter | None = None
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._failure: BadInput | None = None
        self._copies = self.folder / ASIDE / f"{UNDER_WAY}{uuid4().hex[:8]}"
        self._presence: FolderLock | None = None
        self._changed: dict[str | None, Make] = {}
        self._work, self._closed = threading.Event(), threading.Event()

    @property
    def over(self) -> bool:
        """True once there are enough games, or one could not be written."""
        return self._over.is_set()

    def write(self, episode: Episode) -> Path:
        """Add an episode and return its path, once it is on the disk. Ctrl-C waits.

        If that fails (a full disk, lost permissions, a missing folder), BadInput names the episode's new place.
        """
        with Deferred(patient=True) as signals, self._lock:
            self._changed.pop(episode.origin.page_game, None)
            path = self._write_longest(episode)
            self.forget(episode.origin.page_game)
            self.on_game()
            if self._enough(episode):
                self._over.set()
        signals.deliver()
        return path

    def note(self, name: str, make: Make) -> None:
        """Keep a copy of a game under way, within a second. make: the game so far, None if nothing is worth keeping;
        called in another thread."""
        if self._presence is None:
            with self._lock:
                self._begin_copying()
        self._changed[name] = make
        self._work.set()

    def forget(self, name: str | None) -> None:
        """Remove the copy of a game that needs no recording."""
        with self._lock:  # a copy that is being written is finished
            self._changed.pop(name, None)
            self._copy_of(name).unlink(missing_ok=True)

    def wait(self) -> None:
        """Wait until the recording is over. BadInput of the game that could not be written."""
        while not self._over.wait(0.5):  # without a timeout, Ctrl-C would not interrupt it on every platform
            pass
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End the copying; games that were noted and neither written nor forgotten stay."""
        self._closed.set()
        self._work.set()
        with self._lock:
            if self._presence is not None:
                with suppress(OSError):
                    self._copies.rmdir()
                self._presence.close()

    @cached_property
    def _paths(self) -> dict[str, Path]:
        """The games that have names."""
        paths: dict[str, Path] = {}
        with suppress(BadInput):  # no game yet, or one is damaged
            dataset = open_dataset(self.folder)
            for index, path in enumerate(dataset.files):
                paths[dataset.metadata(index)["origin"].get("page_game")] = path
        return paths

    def _write_longest(self, episode: Episode) -> Path:
        name = episode.origin.page_game
        if name is None:
            return self._write(episode)
        shorter: Path | None = None
        if (path := self._paths.get(name)) is not None and path.exists():
            with suppress(BadInput):  # damaged
                if _length(read_episode(path, self.info)) >= _length(episode):
                    return path
                shorter = path
        self._paths[name] = self._write(episode)
        if shorter is not None:
            set_aside(shorter, "discarded")
        return self._paths[name]

    def _write(self, episode: Episode) -> Path:
        try:
            return self._writer.write(episode)
        except OSError as error:
            why = (error.strerror or type(error).__name__).lower()
            self._failure = BadInput(f"{self.folder}: cannot be written ({why}); {self._rescue(episode)}")
        except BadInput as error:
            self._failure = error
        self._over.set()
        raise self._failure from None

    def _rescue(self, episode: Episode) -> str:
        try:
            if self._elsewhere is None:
                self._elsewhere = DatasetWriter(tempfile.mkdtemp(prefix="qwop-"), self.info)
            self._elsewhere.write(episode)
        except (OSError, BadInput):
            copied = self._copy_of(episode.origin.page_game).exists()
            kept = "is kept as far as it was copied" if copied else "is lost, all before it are kept"
            return f"the game that has just ended {kept}; make room, then record again"
        self.forget(episode.origin.page_game)
        here, rescued = self.folder, self._elsewhere.folder
        both = next_command("qwop-dataset copy", dataset=here, others=[str(rescued)], out=beside(here, "2"))
        return (
            f"what could not be written is in {rescued}, a dataset of its own; make room, then put both together: "
            f"{both.removeprefix('next: ')}"
        )

    def _copy_of(self, name: str | None) -> Path:
        return self._copies / f"game-{name}.partial"

    def _begin_copying(self) -> None:
        if self._presence is None and not self._closed.is_set():
            folder = self._copies.with_name(f".{self._copies.name}")
            folder.mkdir(parents=True)
            self._presence = FolderLock(folder)
            folder.rename(self._copies)  # no other recorder finds it without the lock
            threading.Thread(target=self._copy, name="games under way", daemon=True).start()

    def _copy(self) -> None:
        pause = 0.0
        while not self._closed.wait(pause):
            self._work.wait()
            self._work.clear()
            began = time.monotonic()
            for name in [*self._changed]:
                with self._lock, suppress(OSError, BadInput):  # a full disk, which the game's end will report
                    make = self._changed.pop(name, None)
                    episode = make() if make is not None and not self._closed.is_set() else None
                    if episode is not None:
                        with temporary_sibling(self._copy_of(name)) as sibling:  # not synced: it outlives this process
                            sibling.write_bytes(to_parquet(episode, self.info, 0))
                            sibling.replace(self._copy_of(name))
            pause = max(EVERY, (time.monotonic() - began) / SHARE)


def _length(episode: Episode) -> int:
    """Frames of a game, or decisions where it has no keys."""
    return len(episode if episode.keys is None else episode.keys_of_frames)


def record_interrupted(folder: Path) -> list[str]:
    """Write the games that killed recorders left under way in a dataset's folder; lines that say so."""
    folders = sorted(folder.glob(f"{ASIDE}/{UNDER_WAY}*")) if (folder / DESCRIPTION).exists() else []
    if not folders:
        return []
    games, recorded, notes = GameWriter(DatasetWriter(folder, read_info(folder))), 0, []
    before = {*episode_files(folder).values()}
    for recorder in folders:
        with claimed(recorder) as mine:
            for path in sorted(recorder.glob("game-*.partial")) if mine else ():
                try:
                    recorded += games.write(_copied(path, games.info)) not in before
                    path.unlink()
                except BadInput as error:
                    notes.append(f"a game that a killed recorder left is not recorded: {error}")
            if mine:
                for half_written in recorder.glob(".*"):
                    half_written.unlink()
                with suppress(OSError):  # some are left
                    recorder.rmdir()
    return [*notes, *([f"games that a killed recorder left are recorded: {recorded}"] if recorded else [])]


def _copied(path: Path, info: DatasetInfo) -> Episode:
    """The game of which this is a copy."""
    with naming(path), pq.ParquetFile(path) as parquet:
        return episode_of(table_of(parquet, info), info, None)
