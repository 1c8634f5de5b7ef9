"""A disk with faults, between a command and the operating system.

Everything that Python code writes or reads goes through functions of `os` and through `io.open`, here replaced by ones
that count their calls. At one of them the fault comes: the call is refused, a write is torn, the process is killed, the
clock jumps, or the power fails, which also takes back what was not yet synced.
"""

import builtins
import errno
import io
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KILL, TEAR, POWER, CLOCK = "kill", "tear", "power", "clock"

REFUSALS = {"full": errno.ENOSPC, "broken": errno.EIO, "forbidden": errno.EACCES}
"""Errors with which calls are refused: from the fault on, or only once."""

DISK_FAULTS = (KILL, TEAR, POWER, CLOCK, *REFUSALS)

WRITING = ("open", "write", "sync", "rename", "link", "mkdir", "truncate")
"""Calls that a full disk refuses; a broken one also refuses to read."""


@dataclass(frozen=True)
class Fault:
    """A fault at the call of this number, from 0. lasting: for a refusal, of all calls from then on."""

    kind: str
    call: int
    lasting: bool = True
    seed: int = 0


class Disk:
    """The layer within one process. Only what lies in `folder` is counted; `log` is a file outside the layer."""

    def __init__(self, folder: Path, fault: Fault | None, backups: Path, log: int) -> None:
        self.folder, self.fault, self.backups, self.log = str(folder.resolve()), fault, backups, log
        self.calls = 0
        self._random = random.Random(fault.seed if fault else 0)
        self._real = {name: getattr(os, name) for name in _REPLACED}
        self._open = io.open
        self._unsynced: dict[str, int] = {}  # size at the last sync, by file
        self._undo: list[tuple[str, Callable[[], object]]] = []  # folder and way back of every change of a name
        self._pid = os.getpid()

    def install(self) -> None:
        """Take the place of the operating system for the rest of this process."""
        for name, make in _REPLACED.items():
            setattr(os, name, make(self, self._real[name]))
        io.open = self._open_file  # type: ignore[assignment]
        builtins.open = self._open_file  # type: ignore[assignment]

    # --- calls ---

    def within(self, path: Any) -> str | None:
        """The path, if the layer is about it."""
        if isinstance(path, int):
            try:
                path = self._real["readlink"](f"/proc/self/fd/{path}")
            except OSError:
                return None
            if not path.startswith("/"):  # a pipe
                return None
        path = os.path.abspath(os.fsdecode(path))
        return path if path.startswith(self.folder + os.sep) or path == self.folder else None

    def call(self, kind: str, path: str, act: Callable[[], Any], torn: Callable[[], object] | None = None) -> Any:
        """Do one call, unless the fault is due. torn: does a part of it."""
        number, fault = self.calls, self.fault
        self.calls += 1
        if fault is None or number < fault.call or os.getpid() != self._pid:
            return act()
        first = number == fault.call
        if first and fault.kind != CLOCK:
            self._strike()
        if fault.kind in REFUSALS and (first or fault.lasting) and (kind in WRITING or fault.kind == "broken"):
            raise OSError(REFUSALS[fault.kind], os.strerror(REFUSALS[fault.kind]), path)
        if not first:
            return act()
        if fault.kind == CLOCK:
            self._jump()
            return act()
        if fault.kind == TEAR and torn is not None:
            torn()
            self._die()
        if fault.kind in (KILL, POWER):
            if self._random.random() < 0.5:  # after the call
                act()
            if fault.kind == POWER:
                self._lose_power()
            self._die()
        if fault.kind == TEAR:  # no write: killed before it
            self._die()
        return act()

    def _strike(self) -> None:
        self._real["write"](self.log, b"struck\n")

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _jump(self) -> None:
        self._strike()
        real, by = time.time, self._random.choice((-1e9, -3600.0, 3600.0, 1e8))
        time.time = lambda: real() + by

    # --- what a power failure takes back ---

    def wrote(self, path: str, before: int) -> None:
        self._unsynced.setdefault(path, before)

    def synced(self, path: str) -> None:
        self._unsynced.pop(path, None)
        if os.path.isdir(path):
            self._undo = [(folder, undo) for folder, undo in self._undo if folder != path]

    def named(self, path: str, undo: Callable[[], object]) -> None:
        self._undo.append((os.path.dirname(path), undo))

    def moved(self, old: str, new: str) -> None:
        if old in self._unsynced:
            self._unsynced[new] = self._unsynced.pop(old)

    def backup(self, path: str) -> str | None:
        """A second name for the file at `path`, to bring it back."""
        if not os.path.isfile(path) or os.path.islink(path):
            return None
        copy = str(self.backups / f"{len(self._undo)}-{self.calls}")
        self._real["link"](path, copy)
        return copy

    def _lose_power(self) -> None:
        for path, size in self._unsynced.items():
            if os.path.isfile(path):
                now = os.path.getsize(path)
                if now > size:
                    self._real["truncate"](path, self._random.randint(size, now))
        kept = self._random.randint(0, len(self._undo))
        for _, undo in reversed(self._undo[kept:]):
            with suppress(OSError):  # of a folder that is gone too
                undo()

    # --- files ---

    def _open_file(self, file: Any, mode: str = "r", buffering: int = -1, *more: Any, **named: Any) -> Any:
        if isinstance(file, str | bytes | os.PathLike) and (path := self.within(file)):
            there = os.path.lexists(path)
            kind = "open" if set(mode) & set("wax") or "+" in mode else "read"
            opener = named.get("opener")
            if kind == "read" or opener is not None:
                return self.call(kind, path, lambda: self._open(file, mode, buffering, *more, **named))
            raw = self.call(kind, path, lambda: _File(self, path, mode.replace("t", "").replace("b", "")))
            if not there:
                self.named(path, lambda: self._real["unlink"](path))
            return _buffered(raw, mode, buffering, *more, **named)
        return self._open(file, mode, buffering, *more, **named)


class _File(io.FileIO):
    """A file that is written through the layer."""

    def __init__(self, disk: Disk, path: str, mode: str) -> None:
        super().__init__(path, mode)
        self._disk, self._path = disk, path

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        before = os.fstat(self.fileno()).st_size
        half = view[: self._disk._random.randint(0, max(0, len(view) - 1))]
        self._disk.wrote(self._path, before)
        written: int = self._disk.call(
            "write", self._path, lambda: super(_File, self).write(view), lambda: super(_File, self).write(half)
        )
        return written

    def truncate(self, size: int | None = None) -> int:
        done: int = self._disk.call("truncate", self._path, lambda: super(_File, self).truncate(size))
        return done


def _buffered(raw: _File, mode: str, buffering: int, *more: Any, **named: Any) -> Any:
    if buffering == 0:
        return raw
    binary: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
    if "b" in mode:
        return binary
    encoding, errors, newline = (*more, None, None, None)[:3]
    return io.TextIOWrapper(
        binary,
        named.get("encoding", encoding) or "utf-8",
        named.get("errors", errors),
        named.get("newline", newline),
        line_buffering=buffering == 1,
    )


def _on_path(kind: str, undo: Callable[[Disk, str], Callable[[], object]] | None) -> Any:
    """A function of one path."""

    def make(disk: Disk, real: Callable[..., Any]) -> Callable[..., Any]:
        def replaced(path: Any = ".", *more: Any, **named: Any) -> Any:
            found = disk.within(path) if named.get("dir_fd") is None else None
            if found is None:
                return real(path, *more, **named)
            back = undo(disk, found) if undo else None
            made = disk.call(kind, found, lambda: real(path, *more, **named))
            if back is not None:
                disk.named(found, back)
            return made

        return replaced

    return make


def _on_two(kind: str) -> Any:
    """A function that gives a file another name."""

    def make(disk: Disk, real: Callable[..., Any]) -> Callable[..., Any]:
        def replaced(old: Any, new: Any, *more: Any, **named: Any) -> Any:
            one, other = disk.within(old), disk.within(new)
            if one is None or other is None:
                return real(old, new, *more, **named)
            before = disk.backup(other) if kind == "rename" else None

            def undo() -> None:
                if kind == "link":
                    disk._real["unlink"](other)
                    return
                disk._real["rename"](other, one)
                if before is not None:
                    disk._real["link"](before, other)

            made = disk.call(kind, other, lambda: real(old, new, *more, **named))
            disk.moved(one, other)
            disk.named(other, undo)
            return made

        return replaced

    return make


def _written(disk: Disk, real: Callable[..., Any]) -> Callable[..., Any]:
    def replaced(descriptor: int, data: Any) -> Any:
        path = disk.within(descriptor)
        if path is None or descriptor == disk.log:
            return real(descriptor, data)
        half = bytes(data)[: disk._random.randint(0, max(0, len(data) - 1))]
        disk.wrote(path, os.fstat(descriptor).st_size)
        return disk.call("write", path, lambda: real(descriptor, data), lambda: real(descriptor, half))

    return replaced


def _synced(disk: Disk, real: Callable[..., Any]) -> Callable[..., Any]:
    def replaced(descriptor: Any) -> Any:
        path = disk.within(descriptor if isinstance(descriptor, int) else descriptor.fileno())
        if path is None:
            return real(descriptor)
        made = disk.call("sync", path, lambda: None)  # nothing is slower than to wait for a real disk
        disk.synced(path)
        return made

    return replaced


def _opened(disk: Disk, real: Callable[..., Any]) -> Callable[..., Any]:
    def replaced(path: Any, flags: int, *more: Any, **named: Any) -> Any:
        found = disk.within(path) if named.get("dir_fd") is None else None
        if found is None:
            return real(path, flags, *more, **named)
        writes, there = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)), os.path.lexists(found)
        made = disk.call("open" if writes else "read", found, lambda: real(path, flags, *more, **named))
        if writes and not there:
            disk.named(found, lambda: disk._real["unlink"](found))
        return made

    return replaced


def _brought_back(disk: Disk, path: str) -> Callable[[], object]:
    before = disk.backup(path)
    return lambda: before and disk._real["link"](before, path)


_REPLACED: dict[str, Any] = {
    "open": _opened,
    "write": _written,
    "fsync": _synced,
    "rename": _on_two("rename"),
    "replace": _on_two("rename"),
    "link": _on_two("link"),
    "unlink": _on_path("unlink", _brought_back),
    "remove": _on_path("unlink", _brought_back),
    "mkdir": _on_path("mkdir", lambda disk, path: lambda: shutil.rmtree(path, ignore_errors=True)),
    "rmdir": _on_path("rmdir", lambda disk, path: lambda: disk._real["mkdir"](path)),
    "listdir": _on_path("read", None),
    "scandir": _on_path("read", None),
    "readlink": lambda disk, real: real,
    "truncate": _on_path("truncate", None),
}
