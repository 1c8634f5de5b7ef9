"""Atomic writing of files, and checks that folders are writable."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from .errors import BadInput
from .reading import reason


class CannotBeWritten(BadInput):
    """A file that the system refuses to write; the message names it."""


def named_path(path: str | os.PathLike[str], kind: str) -> Path:
    """A path that a program gives, ~ or ~user being that home folder, if there is such a user.

    BadInput for an empty one, which Python would take for the working folder.
    """
    if not os.fspath(path).strip():
        raise BadInput(f"the name of the {kind} is empty; give one, or . for the working folder")
    return Path(os.path.expanduser(path))


_NO_NAME = re.compile(r"[/\\\x00-\x1f\x7f]|^\.{1,2}$")


def file_name(text: str) -> str:
    """The text as a name within a folder: with - for what separates folders, control characters, and `.` or `..`."""
    return _NO_NAME.sub("-", text)


def own_name(folder: Path) -> str:
    """The name of a folder, also where the path to it is `.` or ends in `..`."""
    return os.path.basename(os.path.abspath(folder))


def beside(folder: Path, ending: str) -> Path:
    """A path beside a folder, named after it: `runs/me-2` for `runs/me`, `../me-2` for `.` in `me`."""
    parent = folder.parent if folder.name not in ("", "..") else folder / ".."
    return parent / f"{own_name(folder)}-{ending}"


def write_atomic(path: Path, content: str | bytes) -> Path:
    """Write a text (UTF-8) or bytes as `atomic_file` does."""
    with atomic_file(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Context manager: yields a name to write a file to, which becomes `path` at the end, in place of any previous file
    or link. The file is on the disk then. Makes the folder, and removes it again if it stays empty. BadInput if the
    file cannot be written (a full disk, lost permissions)."""
    try:
        with new_folder(path.parent), synced_file(path) as partial:
            yield partial
    except Exception as error:
        cause = _system_error(error)
        if cause is None:
            raise
        raise cannot_be_written(path, cause) from None


@contextmanager
def synced_file(path: Path) -> Iterator[Path]:
    """Context manager as `atomic_file`, in a folder that is there, with the system's own errors."""
    with temporary_sibling(path) as partial:
        yield partial
        _sync(partial, os.O_RDWR)
        partial.replace(path)
    sync_folder(path.parent)


@contextmanager
def temporary_sibling(path: Path) -> Iterator[Path]:
    """A temporary name for writing `path`: hidden, in the same folder, with the same suffix.

    After writing, rename it to `path`; a file that still has the name at the end of the context is deleted.
    """
    partial = path.with_name(f".{uuid4().hex}.partial{path.suffix}")
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, if the file system supports that."""
    if os.name != "nt":  # a folder cannot be opened there
        with suppress(OSError):  # some network file systems cannot; the file itself is synced
            _sync(folder, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_writable_folder(folder: Path, setting: str) -> None:
    """BadInput, naming the setting, unless files can be written into the folder, which need not be there yet.

    Tries it, and leaves nothing behind.
    """
    try:
        with new_folder(folder), temporary_sibling(folder / "trial") as partial:
            partial.open("xb").close()
    except OSError as error:
        raise CannotBeWritten(f"{setting}={folder}: {_why(folder, error)}; give {setting}= another folder") from None


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Context manager: makes the folder and those above it that are missing, and removes them again if they stay empty.
    Their names are on the disk."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in missing:
            sync_folder(one.parent)
        yield
    finally:
        for one in missing:
            with suppress(OSError):
                one.rmdir()


def cannot_be_written(path: Path, error: OSError) -> CannotBeWritten:
    """The error for a file that the system refuses to write."""
    return CannotBeWritten(f"{path}: cannot be written ({_why(path, error)}); make room or permit it, then start again")


def _system_error(error: BaseException | None) -> OSError | None:
    """The system's error behind a library's own error about a failed write."""
    while error is not None and not isinstance(error, OSError | BadInput):
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return error if isinstance(error, OSError) else None


def _why(path: Path, error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        in_the_way = next((one for one in (path, *path.parents) if os.path.lexists(one) and not one.is_dir()), path)
        return f"{in_the_way} is {'a file' if in_the_way.exists() else 'a link that leads nowhere'}"
    return reason(error)
