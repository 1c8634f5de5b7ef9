"""Writing: each episode is written atomically, and nothing is overwritten."""

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from uuid import uuid4

from ..common.errors import BadInput
from ..common.files import make_missing, named_path, sync_folder, temporary_sibling, write_atomic, write_synced
from ..common.folder_lock import FolderLock
from .columns import identity, to_parquet
from .folder import (
    ASIDE,
    DESCRIPTION,
    EPISODES,
    episode_files,
    episode_name,
    next_number,
    read_info,
    require_same,
    subfolder,
    to_text,
)
from .reader import read_episode
from .schema import DatasetInfo, Episode

OLD = 3600.0
"""Seconds after which a claim of another machine's process counts as left; writing a game takes less than one."""


class DatasetWriter:
    """Writes episodes to `folder`, which is created and described unless it already is a dataset.

    A number is taken by an exclusive claim. The file is written under a temporary name, synced, and then renamed: what
    has an episode's name is complete, numbering continues, and any number of writers can share a folder. A killed
    writer leaves at worst a claim and a temporary file; the next writer takes the claimed number. Raises BadInput if
    the folder holds episodes of other settings, and for settings that files may not contain.
    """

    def __init__(self, folder: str | os.PathLike[str], info: DatasetInfo) -> None:
        self.folder = named_path(folder, "dataset's folder")
        info.environment.require_readable()
        try:
            make_missing(self.folder)
            self._presence = FolderLock(self.folder, within=(EPISODES, ASIDE))  # before it writes anything
            self._episodes = subfolder(self.folder, EPISODES)
            if not (self.folder / DESCRIPTION).exists():
                if next_number(self.folder) > 0:
                    raise BadInput(f"{self.folder}: has episodes but no {DESCRIPTION}; give another folder")
                self._describe(info)
        except (FileExistsError, NotADirectoryError):
            raise BadInput(f"{self.folder}: a file is in the way; give another folder") from None
        except OSError as error:
            raise BadInput(f"{self.folder}: cannot be written ({error.strerror}); give another folder") from None
        require_same(self.folder, info)
        self.info = read_info(self.folder)
        self._next = min([*_left(self._episodes), next_number(self.folder)])
        self._others: set[str] = set()  # episodes of writers beside this one

    def write(self, episode: Episode) -> Path:
        """Add an episode and return its path, once it is on the disk; ValueError if it does not fit `info`, BadInput if
        another writer has just added it: two at once of the same policy and seed play the same games.
        """
        episode.require_fit(self.info)
        while True:
            number = self._next
            with _Claim(self._episodes, number) as claim:
                if claim.mine and not self._is_taken(number):  # another writer may have written it before the claim
                    content = to_parquet(episode, self.info, number)
                    path = self._episodes / episode_name(number, content)
                    with temporary_sibling(path) as partial:
                        write_synced(partial, content)
                        if not claim.is_kept():
                            continue  # it was taken for a killed writer's
                        partial.rename(path)
                    sync_folder(self._episodes)
                    self._next = number + 1
                    return path
            if (other := episode_files(self.folder).get(number)) is not None:
                with suppress(BadInput):
                    self._others.add(identity(read_episode(other, self.info)))
            if self._others and identity(episode) in self._others:
                raise BadInput(
                    f"{self.folder}: another process is recording the same games; wait for it, or record others"
                )
            self._next += 1

    def _is_taken(self, number: int) -> bool:
        return any(name.startswith(f"episode-{number:06d}-") for name in os.listdir(self._episodes))

    def _describe(self, info: DatasetInfo) -> None:
        """Write the description, unless another writer is faster."""
        content = to_text(info.with_names.to_json())
        with _Claim(self.folder, None) as claim:
            if claim.mine and not (self.folder / DESCRIPTION).exists():
                write_atomic(self.folder / DESCRIPTION, content)
        patience = time.monotonic() + 5
        while not (self.folder / DESCRIPTION).exists() and time.monotonic() < patience:
            time.sleep(0.05)


class _Claim:
    """Context manager: the claim of a number, or of the description. mine: true if no other live writer has it.

    A claim is a file that only one process can create. It names its machine and process, so that one that a killed
    process left is taken over.
    """

    def __init__(self, folder: Path, number: int | None) -> None:
        self._path = folder / (f".episode-{number:06d}.claim" if number is not None else f".{DESCRIPTION}.claim")
        self._content = json.dumps([socket.gethostname(), os.getpid(), uuid4().hex])

    def __enter__(self) -> "_Claim":
        self.mine = self._take() or (_is_left(self._path) and self._remove_left() and self._take())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.mine and self.is_kept():
            self._path.unlink(missing_ok=True)

    def is_kept(self) -> bool:
        """True while the claim is this writer's."""
        return _content(self._path) == self._content

    def _take(self) -> bool:
        try:
            with self._path.open("x", encoding="utf-8") as file:
                file.write(self._content)
        except FileExistsError:
            return False
        return True

    def _remove_left(self) -> bool:
        """Remove a claim that a killed writer left. It is moved first: where two writers find it, one moves it, and the
        other must not remove the first one's own."""
        moved = self._path.with_name(f".{uuid4().hex}.partial")
        try:
            self._path.rename(moved)
        except OSError:
            return False
        if _is_left(moved):
            moved.unlink(missing_ok=True)
            return True
        with suppress(OSError):
            moved.rename(self._path)
        return False


def _left(folder: Path) -> list[int]:
    """Numbers that killed writers claimed."""
    return [int(path.name[9:-6]) for path in folder.glob(".episode-*.claim") if _is_left(path)]


def _is_left(path: Path) -> bool:
    """True for the claim of a process that has ended, and for one that is old."""
    try:
        old = time.time() - path.stat().st_mtime > OLD
    except OSError:  # gone meanwhile
        return False
    try:
        host, process, _ = json.loads(_content(path) or "")
    except (ValueError, TypeError):  # empty for the moment between its creation and its content
        return old
    return old or (host == socket.gethostname() and type(process) is int and not _is_alive(process))


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # os.kill would end it there
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
