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
from .files import new_folder, require_writable_folder, sync_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_REMOVING = 5.0
"""Seconds after which another process has certainly removed leftovers."""

LEFTOVER = re.compile(r"\.[0-9a-f]{32}\.partial(\.\w+)?")
"""Names that `files.temporary_sibling` gives to files while they are written, and `whole_folder` to folders."""


class _Lock:
    """A lock on a folder until `close`, the end of this object or the process."""

    def __init__(self, folder: Path) -> None:
        self._descriptor: int | None = None
        if fcntl is not None:
            with suppress(OSError):
                self._descriptor = os.open(folder, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait
                # Closed before the interpreter takes its modules apart.
                self._leave = weakref.finalize(self, os.close, self._descriptor)

    def take(self, *, exclusive: bool, wait: bool = False) -> bool | None:
        """True if the lock was taken, False if another process has it, None if locks are not supported."""
        if self._descriptor is None:
            return None
        try:
            kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
            fcntl.flock(self._descriptor, kind if wait else kind | fcntl.LOCK_NB)
        except OSError as error:
            return False if isinstance(error, BlockingIOError) else None
        return True

    def close(self) -> None:
        """Free the lock."""
        if self._descriptor is not None:
            self._leave()


class FolderLock(_Lock):
    """Shared lock on a folder with several writers, held until `close` or process exit.

    Without another writer, leftovers of killed processes are removed, there and in the folders `within`. BadInput if a
    process has the folder exclusively (`exclusive_lock`).
    """

    def __init__(self, folder: Path, within: Sequence[str] = ()) -> None:
        super().__init__(folder)
        if self.take(exclusive=True):
            remove_leftovers([folder, *(folder / name for name in within)])
        patience = time.monotonic() + _REMOVING
        while self.take(exclusive=False) is False:
            if time.monotonic() > patience:
                self.close()
                raise BadInput(f"{folder}: another process has it for itself; wait for it, or give another folder")
            time.sleep(0.05)


@contextmanager
def exclusive_lock(folder: Path, setting: str, within: Sequence[str] = ()) -> Iterator[None]:
    """Context in which no other process may write into the folder; makes it, and removes it again if it stays empty.

    Removes what killed processes left in it and in the folders `within`. BadInput, naming the setting, where another
    process has the folder, and unless files can be written there; and for a link that stands for a folder `within`.
    """
    require_writable_folder(folder, setting)
    with new_folder(folder), claimed(folder) as mine:
        if not mine:
            raise BadInput(
                f"{setting}={folder}: another process is writing there; wait for it, or give {setting}= another"
            )
        inner = [folder / name for name in within]
        if links := [*filter(Path.is_symlink, inner)]:
            raise BadInput(f"{links[0]}: a link, which may lead elsewhere; expected a folder of its own")
        remove_leftovers([folder, *inner])
        yield


@contextmanager
def claimed(folder: Path, wait: bool = False) -> Iterator[bool]:
    """Context with the folder for this process alone; yields False immediately if another process has it.

    Makes the folder, and leaves it. The claim ends with the process however it ends. If folders cannot be locked, every
    claim succeeds. wait: for this process's turn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with closing(_Lock(folder)) as lock:
        yield lock.take(exclusive=True, wait=wait) is not False


@contextmanager
def whole_folder(folder: Path, setting: str) -> Iterator[Path]:
    """Context that yields a folder to fill, which becomes `folder` at the end, whole or not at all.

    BadInput, naming the setting, if the folder is not empty. Files go into a temporary folder next to it; one left by a
    killed process is removed.
    """
    place, folder = folder, folder.resolve()  # a folder can replace the target of a link, but not the link
    if folder == Path.cwd():
        raise BadInput(f"{setting}={place}: is the working folder; give {setting}= a new folder")
    if folder.is_dir() and not all(LEFTOVER.fullmatch(path.name) for path in folder.iterdir()):
        raise BadInput(f"{setting}={place}: is not empty; give {setting}= a new folder")
    remove_leftovers([folder])  # of a killed process that tried whether the folder can be written
    for path in filter(Path.is_dir, _leftovers([folder.parent])):
        with closing(_Lock(path)) as lock:
            if lock.take(exclusive=True):
                shutil.rmtree(path, ignore_errors=True)  # which removes no link
    with new_folder(folder.parent):
        partial = folder.parent / f".{uuid4().hex}.partial"
        try:
            partial.mkdir()
            with closing(FolderLock(partial)):
                yield partial
                if folder.is_dir():
                    folder.rmdir()  # refused where files came meanwhile
                partial.rename(folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def remove_leftovers(folders: Sequence[Path]) -> None:
    """Remove the files that killed processes were writing in these folders, and no others."""
    for path in _leftovers(folders):
        if path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)


def _leftovers(folders: Sequence[Path]) -> list[Path]:
    return [path for folder in folders if folder.is_dir() for path in folder.iterdir() if LEFTOVER.fullmatch(path.name)]
