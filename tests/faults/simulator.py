"""Runs on a disk with faults, each decided by one seed: which work, which fault, at which of its calls.

A command runs until its fault; then what it left is checked, it is repeated without faults, and its end is compared
with that of a run that never had any. AssertionError where a promise does not hold.
"""

import hashlib
import os
import random
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

import children
from children import End
from disk import CLOCK, FAULTS, KILL, POWER, TEAR, Disk, Fault
from qwop.common.folder_lock import LEFTOVER
from qwop.datasets.writer import DatasetWriter
from trials import Reference, Trials
from work import WORK, Work, require_whole

QUICK = (
    "recording", "searching", "distilling", "describing", "setting aside", "merging", "splitting", "dropping",
    "relabelling", "exporting", "importing",
)  # fmt: skip
"""Works of less than a second."""


class Simulator:
    """Simulations in one folder, which has what the works read (`work.prepare`).

    known: runs without faults, by work, of another folder that was prepared in the same way; see `without_faults`.
    """

    def __init__(self, folder: Path, works: tuple[str, ...], known: Mapping[str, tuple[Reference, int]] = {}) -> None:
        self.folder, self.works = folder, works
        self._trials = {name: Trials(WORK[name], folder, reference) for name, (reference, _) in known.items()}
        self._calls = {name: calls for name, (_, calls) in known.items()}

    def without_faults(self, name: str) -> tuple[Reference, int]:
        """Result of a run of this work without faults, and the number of its calls."""
        return self._of(WORK[name]).reference, self._calls_of(WORK[name])

    def drawn(self, seed: int) -> tuple[Work, Fault]:
        """The work and the fault of a seed."""
        draw = random.Random(seed)
        work = WORK[draw.choice(self.works)]
        kind = draw.choice(FAULTS)
        return work, Fault(kind, draw.randrange(self._calls_of(work)), draw.random() < 0.5, seed)

    def run(self, seed: int) -> str:
        """Simulate one seed; the work, the fault and what came of it, in words."""
        work, fault = self.drawn(seed)
        trials = self._of(work)
        inputs = self._inputs()
        run = trials._new()
        for left in self.folder.glob(".*.partial"):  # of the last seed
            shutil.rmtree(left)
        end, said = self._with_disk(work, run, fault)
        self._judge(end, fault)
        require_whole(run)
        self._require_kept(said)
        if end.code == 2 and fault.kind != "broken":  # which cannot remove anything either
            self._require_nothing_hidden(run)
        assert self._inputs() == inputs, "what was read has changed"
        trials._finish(run)
        if work.games is not None:
            verified = children.run(["verify", f"dataset={run / work.games}"], self.folder)
            assert verified.code == 0, verified
        self._require_kept(said)
        assert self._inputs() == inputs, "what was read has changed"
        return f"{work.name}, {fault.kind} at call {fault.call}: {_how(end)}"

    def _of(self, work: Work) -> Trials:
        if work.name not in self._trials:
            self._trials[work.name] = Trials(work, self.folder)
        return self._trials[work.name]

    def _calls_of(self, work: Work) -> int:
        """Number of calls of a run without faults."""
        if work.name not in self._calls:
            run = self._of(work)._new()
            end, said = self._with_disk(work, run, None)
            assert end.code == 0, end
            self._calls[work.name] = int(said[-1].split()[1])
        return self._calls[work.name]

    def _with_disk(self, work: Work, run: Path, fault: Fault | None) -> tuple[End, list[str]]:
        """Run a command on a disk with a fault; its end, and the lines that the layer wrote."""
        backups = self.folder.with_name(f"{self.folder.name}-backups")
        shutil.rmtree(backups, ignore_errors=True)
        backups.mkdir()
        path = backups / "log"
        end = children.run(work.command(run.name), self.folder, lambda: _install(self.folder, fault, backups, path))
        said = path.read_text().splitlines() if path.exists() else []
        return end, said

    def _judge(self, end: End, fault: Fault) -> None:
        if end.code == -signal.SIGKILL:
            assert fault.kind in (KILL, TEAR, POWER), end
        elif end.code != 0:
            assert end.code == 2, end
            assert fault.kind not in (KILL, TEAR, POWER, CLOCK), end
            assert len(end.said) == 1, end
            assert end.said[0].startswith("qwop-"), end

    def _require_kept(self, said: list[str]) -> None:
        """Every episode that was reported as written is there, bit for bit."""
        for line in said:
            if line.startswith("wrote "):
                _, digest, name = line.split(" ", 2)
                # A dataset is filled under another name, and appears whole or not at all.
                if ".partial" not in name:
                    path = Path(name)
                    assert path.exists(), f"{path} was written, and is gone"
                    assert _digest(path) == digest, f"{path} has changed"

    def _require_nothing_hidden(self, run: Path) -> None:
        """Check that a refused work removed what it had begun."""
        for path in (run.parent, *(path for path in run.rglob("*") if path.is_dir())):
            left = [one for one in path.iterdir() if LEFTOVER.fullmatch(one.name)]
            assert left == [], left

    def _inputs(self) -> dict[str, str]:
        paths = (path for path in self.folder.rglob("*") if path.is_file() and "trial" not in path.parts)
        return {str(path): _digest(path) for path in paths if not any(map(LEFTOVER.fullmatch, path.parts))}


def _install(folder: Path, fault: Fault | None, backups: Path, path: Path) -> None:
    """In the child: put the disk in the place of the operating system, and note every episode that is written."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    disk = Disk(folder, fault, backups, log)
    write, leave, write_past = DatasetWriter.write, os._exit, os.write

    def say(text: str) -> None:
        write_past(log, f"{text}\n".encode())

    def noted(self: DatasetWriter, episode: object) -> Path:
        made = write(self, episode)  # type: ignore[arg-type]
        say(f"wrote {_digest(made)} {made.absolute()}")
        return made

    def leaving(code: int) -> None:
        say(f"calls {disk.calls}")
        leave(code)

    DatasetWriter.write = noted  # type: ignore[assignment,method-assign]
    os._exit = leaving  # type: ignore[assignment]
    disk.install()


def _digest(path: Path) -> str:
    return hashlib.sha256(_read(path)).hexdigest()[:16]


_OPEN, _READ, _CLOSE = os.open, os.read, os.close


def _read(path: Path) -> bytes:
    """The content of a file, past the layer."""
    descriptor = _OPEN(path, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: _READ(descriptor, 2**20), b""))
    finally:
        _CLOSE(descriptor)


def _how(end: End) -> str:
    return {0: "worked", 2: "refused", -signal.SIGKILL: "killed"}[end.code]
