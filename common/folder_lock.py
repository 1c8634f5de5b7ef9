"""Coordination of processes that write into the same folder, and cleanup after killed ones.

A writing process holds a lock on the folder itself (`flock`), which ends with the process in any case, so it never goes
stale. If folders cannot be locked (Windows, some network drives), nothing is refused or removed.
"""

import os
import re
import shutil
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from .errors import BadInput
from .files import make_missing, remove_if_empty, require_writable_folder, sync_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_REMOVING = 5.0
"""Seconds after which another process has certainly removed leftovers."""

LEFTOVER = re.compile(r"\.[0-9a-f]{32}\.partial(\.\w+)?")
"""Names that `files.temporary_sibling` gives to files while they are written, and `whole_folder` to folders."""


class FolderLock:
    """Shared lock on a folder with several writers, held until `close` or process exit.

    Without another writer, leftovers of killed processes are removed, there and in the folders `within`. BadInput if a
    process has the folder exclusively (`exclusive_lock`).
    """

    def __init__(self, folder: Path, within: Sequence[str] = ()) -> None:
        descriptor = _open(folder)
        # Closed with this object, and before the interpreter takes its modules apart.
        self._leave = weakref.finalize(self, _close, descriptor)
        if _lock(descriptor, exclusive=True):
            remove_leftovers([folder, *(folder / name for name in within)])
        patience = time.monotonic() + _REMOVING
        while _lock(descriptor, exclusive=False) is False:
            if time.monotonic() > patience:
                self.close()
                raise BadInput(f"{folder}: another process has it for itself; wait for it, or give another folder")
            time.sleep(0.05)

    def close(self) -> None:
        """Leave the folder."""
        self._leave()


@contextmanager
def shared_lock(folder: Path, setting: str, within: Sequence[str] = ()) -> Iterator[None]:
    """Context to write into a folder that others may write into as well (see `FolderLock`); makes it, and removes it
    again if it stays empty.

    BadInput, naming the setting, unless files can be written there.
    """
    require_writable_folder(folder, setting)
    with _new_folder(folder), closing(FolderLock(folder, within)):
        yield


@contextmanager
def exclusive_lock(folder: Path, setting: str, within: Sequence[str] = ()) -> Iterator[None]:
    """Context in which no other process may write into the folder; makes it, and removes it again if it stays empty.

    Removes what killed processes left in it and in the folders `within`. BadInput, naming the setting, where another
    process has the folder.
    """
    with _new_folder(folder), claimed(folder) as mine:
        if not mine:
            raise BadInput(
                f"{setting}={folder}: another process is writing there; wait for it, or give {setting}= another"
            )
        remove_leftovers([folder, *(folder / name for name in within)])
        yield


@contextmanager
def claimed(folder: Path, wait: bool = False) -> Iterator[bool]:
    """Context with the folder for this process alone; yields False immediately if another process has it.

    Makes the folder, and leaves it. The claim ends with the process however it ends. If folders cannot be locked, every
    claim succeeds. wait: for this process's turn.
    """
    make_missing(folder)
    with _descriptor(folder) as descriptor:
        yield _lock(descriptor, exclusive=True, wait=wait) is not False


@contextmanager
def whole_folder(folder: Path, setting: str) -> Iterator[Path]:
    """Context that yields a folder to fill, which becomes `folder` at the end, whole or not at all.

    BadInput, naming the setting, if the folder is not empty. Files go into a temporary folder next to it; one left by a
    killed process is removed.
    """
    place, folder = folder, folder.resolve()  # a folder can replace the target of a link, but not the link
    if folder == Path.cwd():
        raise BadInput(f"{setting}={place}: is the working folder; give {setting}= a new folder")
    _require_empty(folder, setting, place)
    for entry in _leftovers([folder.parent]):
        if entry.is_dir(follow_symlinks=False):
            with _descriptor(Path(entry.path)) as descriptor:
                if _lock(descriptor, exclusive=True):
                    shutil.rmtree(entry.path, ignore_errors=True)
    with _new_folder(folder.parent):
        partial = folder.parent / f".{uuid4().hex}.partial"
        try:
            partial.mkdir()
            with closing(FolderLock(partial)):
                yield partial
                _require_empty(folder, setting, place)
                if folder.is_dir():
                    folder.rmdir()
                partial.rename(folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def remove_leftovers(folders: Sequence[Path]) -> None:
    """Remove the files that killed processes were writing in these folders, and no others."""
    for entry in _leftovers(folders):
        if entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                os.unlink(entry.path)


def _leftovers(folders: Sequence[Path]) -> Iterator["os.DirEntry[str]"]:
    for folder in folders:
        with suppress(OSError):
            yield from [entry for entry in os.scandir(folder) if LEFTOVER.fullmatch(entry.name)]


def _require_empty(folder: Path, setting: str, place: Path) -> None:
    if folder.is_dir() and not all(LEFTOVER.fullmatch(path.name) for path in folder.iterdir()):
        raise BadInput(f"{setting}={place}: is not empty; give {setting}= a new folder")
    remove_leftovers([folder])  # of a killed process that tried whether the folder can be written


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """Context manager: makes the folder, and removes it again if it stays empty."""
    folders = make_missing(folder)
    try:
        yield
    finally:
        remove_if_empty(folders)


@contextmanager
def _descriptor(path: Path) -> Iterator[int | None]:
    """Context manager: `_open` the folder or file, and close it at the end."""
    descriptor = _open(path)
    try:
        yield descriptor
    finally:
        _close(descriptor)


def _open(path: Path) -> int | None:
    """A descriptor of a folder or file to lock, without waiting for a pipe; None where it cannot be opened."""
    with suppress(OSError, ValueError):  # ValueError: a name with a null byte
        return None if fcntl is None else os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    return None


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


def _lock(descriptor: int | None, exclusive: bool, wait: bool = False) -> bool | None:
    """True if the lock was taken, False if another process has it, None if locks are not supported."""
    if descriptor is None:
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
