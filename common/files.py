"""Atomic writing of files, and checks that folders are writable."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from .errors import BadInput


class CannotBeWritten(BadInput):
    """A file that the system refuses to write; the message names it."""


Content = str | bytes | Callable[[BinaryIO], object]
"""The content of a file: a text (UTF-8), bytes, or a function that writes them into an open file."""


def named_path(path: str | os.PathLike[str], kind: str) -> Path:
    """A path that a program gives, ~ being the home folder.

    BadInput for an empty one, which Python would take for the working folder.
    """
    if not os.fspath(path).strip():
        raise BadInput(f"the name of the {kind} is empty; give one, or . for the working folder")
    return with_home(path)


def with_home(path: str | os.PathLike[str]) -> Path:
    """The path with ~ or ~user as that home folder; unchanged where there is no such user, as in a shell."""
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


def write_atomic(path: Path, content: Content) -> Path:
    """Write a file atomically, replacing any previous one, or the link in its place. The file is on the disk when this
    returns. Creates the folder. BadInput if it cannot be written (a full disk, lost permissions).
    """
    with atomic_file(path) as partial:
        _write(partial, content)
    return path


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Context manager like `write_atomic`, for libraries that write by name: yields a name to write to, which becomes
    `path` at the end. Makes the folder, and removes it again if it stays empty."""
    try:
        with new_folder(path.parent):
            with temporary_sibling(path) as partial:
                yield partial
                _sync(partial, os.O_RDWR)
                partial.replace(path)
            sync_folder(path.parent)
    except Exception as error:
        cause = _system_error(error)
        if cause is None:
            raise
        raise cannot_be_written(path, cause) from None


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


def write_synced(path: Path, content: Content) -> None:
    """Write a new file and wait until it is on the disk."""
    _write(path, content)
    _sync(path, os.O_RDWR)


def _write(path: Path, content: Content) -> None:
    with path.open("xb") as file:
        if callable(content):
            content(file)
        else:
            file.write(content.encode() if isinstance(content, str) else content)


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
    lines = str(error).splitlines()[:1]  # of a library's own, which has no number
    return (error.strerror or (lines[0] if lines else type(error).__name__)).lower()
