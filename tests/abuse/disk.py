"""A disk with faults, between a command and the operating system.

Python announces to audit hooks whatever it opens, names, moves or removes, and a hook can refuse it. The hook of a
`Disk` counts these calls, and with them those of `os.fsync`. At one of them the fault comes: the call is refused, the
process is killed, the clock jumps, or the power fails, which also takes back what was not yet synced. Writes are
refused and torn by a limit of the operating system (`runs.py`).
"""

import errno
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KILL, POWER, CLOCK = "kill", "power", "clock"

REFUSALS = {"full": errno.ENOSPC, "broken": errno.EIO, "forbidden": errno.EACCES}
"""Errors with which calls are refused: from the fault on, or only once."""

DISK_FAULTS = (KILL, POWER, CLOCK, *REFUSALS)

READING = ("read", "os.listdir", "os.scandir", "os.remove", "os.rmdir")
"""Calls that a full or forbidden disk allows."""

CALLS = (*READING, "open", "os.rename", "os.link", "os.mkdir", "os.truncate")
"""Events of the interpreter that are calls; one that opens a file to read it is called `read` here."""


@dataclass(frozen=True)
class Fault:
    """A fault at the call of this number, from 0. lasting: for a refusal, of all calls from then on."""

    kind: str
    call: int
    lasting: bool = True
    seed: int = 0


class Disk:
    """The layer within one process, about what lies in `folder`. backups: a folder outside, on the same disk."""

    def __init__(self, folder: Path, fault: Fault | None, backups: Path) -> None:
        self.folder, self.fault, self.backups = str(folder.resolve()), fault, backups
        self.calls = 0
        self._random = random.Random(fault.seed if fault else 0)
        self._synced: dict[str, int] = {}  # bytes that are safe, of each file that was opened to be written
        self._undo: list[tuple[str, Callable[[], object]]] = []  # folder and way back of every change of a name
        self._pid, self._at_work = os.getpid(), set[int]()

    def install(self) -> None:
        """Watch the rest of this process."""
        sys.addaudithook(self._hear)
        os.fsync = self._sync

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Before a call: the fault, or what takes the call back."""
        thread = threading.get_ident()
        if event not in CALLS or thread in self._at_work or os.getpid() != self._pid:
            return
        self._at_work.add(thread)  # whose calls from here on are the layer's own
        try:
            if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                event = "read"
            paths = [self._within(path) for path in arguments[: 2 if event in ("os.rename", "os.link") else 1]]
            if paths[-1] is not None and paths[0] is not None and not self._by_descriptor(event, arguments):
                self._call(event, paths[-1])
                self._note(event, paths[0], paths[-1], arguments)
        finally:
            self._at_work.discard(thread)

    def _by_descriptor(self, event: str, arguments: tuple[Any, ...]) -> bool:
        """Whether the path is relative to a descriptor, as in the removal of a whole folder."""
        return event in ("os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir") and arguments[-1] != -1

    def _within(self, path: Any) -> str | None:
        """The path, if the layer is about it."""
        if not isinstance(path, str | bytes | os.PathLike):
            return None
        path = os.path.abspath(os.fsdecode(path))
        return path if path.startswith(self.folder + os.sep) or path == self.folder else None

    def _sync(self, file: Any) -> None:
        """Note what is safe, instead of waiting for a real disk."""
        path = os.readlink(f"/proc/self/fd/{file if isinstance(file, int) else file.fileno()}")
        if self._within(path) and os.getpid() == self._pid:
            self._call("sync", path)
            if os.path.isdir(path):
                self._undo = [(folder, undo) for folder, undo in self._undo if folder != path]
            else:
                self._synced[path] = os.path.getsize(path)

    def _call(self, kind: str, path: str) -> None:
        """Count a call. OSError if it is refused."""
        number, fault = self.calls, self.fault
        self.calls += 1
        if fault is None or number < fault.call:
            return
        first = number == fault.call
        if fault.kind in REFUSALS and (first or fault.lasting):
            if kind not in READING or fault.kind == "broken":
                raise OSError(REFUSALS[fault.kind], os.strerror(REFUSALS[fault.kind]), path)
        elif first and fault.kind == CLOCK:
            real, by = time.time, self._random.choice((-1e9, -3600.0, 3600.0, 1e8))
            time.time = lambda: real() + by
        elif first:
            if fault.kind == POWER:
                self._lose_power()
            os.kill(os.getpid(), signal.SIGKILL)

    # --- what a power failure takes back ---

    def _note(self, event: str, path: str, target: str, arguments: tuple[Any, ...]) -> None:
        """Note the way back of a call that is about to happen."""
        there = os.path.lexists(target)
        if event == "open":
            size = os.path.getsize(path) if os.path.isfile(path) and not arguments[2] & os.O_TRUNC else 0
            self._synced[path] = min(self._synced.get(path, size), size)
        elif event == "os.rename" and path in self._synced:
            self._synced[target] = self._synced.pop(path)
        way = self._way_back(event, path, target, there)
        if way is not None:
            self._undo.append((os.path.dirname(target), way))

    def _way_back(self, event: str, path: str, target: str, there: bool) -> Callable[[], object] | None:
        if event in ("open", "os.link") and not there:
            return lambda: os.unlink(target)
        if event == "os.mkdir" and not there:
            return lambda: shutil.rmtree(path, ignore_errors=True)
        if event == "os.rmdir" and there:
            return lambda: os.mkdir(path)
        if event == "os.remove" and (removed := self._backup(path)):
            return lambda: os.link(removed, path)
        if event != "os.rename" or not os.path.lexists(path):
            return None
        replaced = self._backup(target)

        def undo() -> None:
            os.rename(target, path)
            if replaced is not None:
                os.link(replaced, target)

        return undo

    def _backup(self, path: str) -> str | None:
        """A second name for the file at `path`, to bring it back."""
        if not os.path.isfile(path) or os.path.islink(path):
            return None
        copy = str(self.backups / f"{len(self._undo)}-{self.calls}")
        os.link(path, copy)
        return copy

    def _lose_power(self) -> None:
        for path, size in self._synced.items():
            if os.path.isfile(path) and (now := os.path.getsize(path)) > size:
                os.truncate(path, self._random.randint(size, now))
        kept = self._random.randint(0, len(self._undo))
        for _, undo in reversed(self._undo[kept:]):
            with suppress(OSError):  # of a folder that is gone too
                undo()
