"""Runs of commands with one fault each, which a seed decides: the work, the fault, and its moment.

A command runs until its fault. Then what it left is checked, it is repeated without faults, and its end is compared
with that of a run that never had any. AssertionError where something finished was lost, half-written, left over, or
not as in a run without faults. A fault of the disk comes at a call (`disk.py`), any other at a moment.
"""

import hashlib
import os
import random
import re
import resource
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qwop.datasets import Episode
from qwop.datasets.writer import DatasetWriter

from .children import Child, End, command, main_of
from .children import run as run_command
from .disk import CLOCK, DISK_FAULTS, KILL, POWER, Disk, Fault
from .works import QUICK, WORK, Work, digest, games, leftovers, prepare, require_clean, require_whole

SIGNALS = ("SIGKILL", "SIGINT", "SIGTERM", "SIGHUP")

FILE_LIMIT, TORN = "file limit", "tear"
GONE, IN_THE_WAY, TWO = "folder gone", "file in its place", "two at once"

FAULTS = (*DISK_FAULTS, *SIGNALS, FILE_LIMIT, TORN, GONE, IN_THE_WAY, TWO)


@dataclass(frozen=True)
class Reference:
    """A run without faults: its result, its seconds, the size of its largest file, and its calls of the disk."""

    digest: dict[str, str]
    seconds: float
    largest: int
    calls: int


class Runs:
    """Runs in one folder. only: names of works. faults: of `FAULTS`."""

    NAMES, QUICK = (*WORK,), QUICK
    FAULTS = FAULTS

    def __init__(self, folder: Path, only: Sequence[str], faults: Sequence[str] = FAULTS) -> None:
        prepare(folder)
        self.folder, self.only, self.faults = folder, only, faults
        self._references: dict[str, Reference] = {}

    def run(self, seed: int) -> str:
        """Run the work of a seed with its fault; what came of it, in words."""
        draw = random.Random(seed)
        work = WORK[self.only[seed % len(self.only)]]
        fault, moment, lasting = draw.choice(self.faults), draw.random(), draw.random() < 0.5
        reference, inputs = self._reference(work), self._inputs()
        run = self._new(work)
        for left in self.folder.glob(".*.partial"):  # of the last seed
            shutil.rmtree(left)
        if fault == TWO:
            end = self._two_at_once(work, run, moment * reference.seconds)
        elif fault in DISK_FAULTS:
            end = self._on_disk(work, run, Fault(fault, int(moment * reference.calls), lasting, seed))
        elif fault in (FILE_LIMIT, TORN):
            end = self._limited(work, run, int(moment * reference.largest), fault == TORN)
        elif fault in SIGNALS:
            end = self._signalled(work, run, moment * reference.seconds, signal.Signals[fault])
        else:
            end = self._moved(work, run, moment * reference.seconds, fault == IN_THE_WAY)
        require_whole(run)
        assert self._inputs() == inputs, "what was read has changed"
        if fault != TWO:
            self._finish(work, run)
        assert self._inputs() == inputs, "what was read has changed"
        return (
            f"{work.name}, {fault}: {({0: 'worked', 2: 'refused', -signal.SIGKILL: 'killed'}).get(end.code, 'ended')}"
        )

    # --- faults ---

    def _signalled(self, work: Work, run: Path, seconds: float, number: signal.Signals) -> End:
        """A signal ends the command: with one line and its exit code, if it can say anything.

        One that comes as the program ends, after its work, ends it as any other program.
        """
        child = Child(command(work.command(run.name)), self.folder)
        child.ended_within(seconds)
        child.send(number)
        end = child.wait()
        if end.code == -number != -signal.SIGKILL:
            self._require_same(work, run)
        elif end.code not in (0, -signal.SIGKILL):
            assert end.code == 128 + number, end
            assert end.lines == [f"{main_of(work.arguments[0]).program}: interrupted"], end
            assert not (work.resumes and "stopped after" in end.out) or "with resume=true" in end.out, end
        return end

    def _limited(self, work: Work, run: Path, largest: int, torn: bool) -> End:
        """No file may become larger (ulimit -f), whatever writes it. torn: the write that would make it so kills."""

        def lower() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
            if torn:
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

        end = run_command(work.command(run.name), self.folder, lower)
        # HDF5, to which Minari's files are written, crashes as it closes a file that it could not write.
        killed = (torn and end.code == -signal.SIGXFSZ) or (work.name == "exporting" and end.code == -signal.SIGSEGV)
        return end if killed else self._refused(end, work)

    def _moved(self, work: Work, run: Path, seconds: float, file_instead: bool) -> End:
        """The folder is moved away while the command runs, and a file may take its name, which stays as it is."""
        child, away = Child(command(work.command(run.name)), self.folder), self.folder / "trial-away"
        child.ended_within(seconds)
        shutil.rmtree(away, ignore_errors=True)
        if run.is_dir():
            run.rename(away)
            if file_instead:
                run.write_text("in the way")
        end = self._refused(child.wait(), work)
        require_whole(away)
        if run.is_file():
            assert run.read_text() == "in the way"
            run.unlink()
        if work.copies and not run.exists():
            away.rename(run)
        return end

    def _refused(self, end: End, work: Work) -> End:
        if end.code != 0:
            end.require_one_line(f"{main_of(work.arguments[0]).program}: ")
        return end

    def _two_at_once(self, work: Work, run: Path, seconds: float) -> End:
        """Two commands in one folder: games of both are kept; another second run is refused, or has nothing to do."""
        child = Child(command(work.command(run.name)), self.folder)
        child.ended_within(seconds)
        more = ["source.seed=1"] if work.name == "recording" else []
        second = run_command(work.command(run.name, *more), self.folder)
        end = child.wait()
        if work.name == "recording":
            assert (end.code, second.code) == (0, 0), second
            assert len(games(run)) == 2 * len(self._reference(work).digest)
        else:
            # The one that came first finishes; either may have.
            assert 0 in (end.code, second.code), (end, second)
            for one in (end, second):
                self._refused(one, work)
            self._require_same(work, run)
        return second

    def _on_disk(self, work: Work, run: Path, fault: Fault | None) -> End:
        """A disk with a fault. Every episode that was reported as written is there, bit for bit."""
        backups = self.folder.with_name(f"{self.folder.name}-backups")
        shutil.rmtree(backups, ignore_errors=True)
        backups.mkdir()
        end = run_command(work.command(run.name), self.folder, lambda: _install(Disk(self.folder, fault, backups)))
        if end.code == -signal.SIGKILL:
            assert fault is not None, end
            assert fault.kind in (KILL, POWER), end
        elif end.code != 0:
            end.require_one_line()
            assert fault is not None, end
            assert fault.kind not in (KILL, POWER, CLOCK), end
            if fault.kind != "broken":  # which cannot remove anything either
                for path in (run.parent, *(path for path in run.rglob("*") if path.is_dir())):
                    assert leftovers(path) == []
        self._calls = sum(int(number) for number in re.findall(r"^note: calls (\d+)$", end.err, re.MULTILINE))
        for written, name in re.findall(r"^note: wrote (\w+) (.*)$", end.err, re.MULTILINE):
            if ".partial" not in name:  # a dataset is filled under another name, and appears whole or not at all
                assert Path(name).exists(), f"{name} was written, and is gone"
                assert _digest(Path(name)) == written, f"{name} has changed"
        return end

    # --- what must be true ---

    def _reference(self, work: Work) -> Reference:
        if work.name not in self._references:
            ends, digests, run = [], [], self.folder / "trial"
            for _ in range(2):  # the first one also fills caches
                self._new(work)
                ends.append(self._on_disk(work, run, None))
                assert ends[-1].code == 0, ends[-1]
                require_whole(run)
                require_clean(run)
                digests.append(digest(work, run))
            assert digests[0] == digests[1]
            seconds = min(end.seconds for end in ends)
            largest = max(path.stat().st_size for path in run.rglob("*") if path.is_file())
            self._references[work.name] = Reference(digests[0], seconds, largest, self._calls)
        return self._references[work.name]

    def _new(self, work: Work) -> Path:
        run = self.folder / "trial"
        if run.is_file():
            run.unlink()
        shutil.rmtree(run, ignore_errors=True)
        if work.copies:
            shutil.copytree(self.folder / work.copies, run)
        return run

    def _finish(self, work: Work, run: Path) -> None:
        """Check what the interrupted run left, go on with it, and compare the end."""
        kept = games(run) if work.name == "recording" else {}
        expected = self._reference(work).digest
        assert kept.items() <= expected.items(), "a game differs from that of the run without faults"
        if work.name == "evaluating" and (run / "evaluation.json").exists():
            shutil.rmtree(run)
        over = bool(work.over) and (run / work.over).exists()  # what is done is refused to be done twice
        if over and not work.check(run):
            self._require_same(work, run)
            return
        words = work.check(run) if over else work.again(run)
        end = run_command(words, self.folder, then=() if over else work.check(run))
        assert end.code == 0, end
        require_whole(run)
        if not over:
            require_clean(run)
        if work.name == "recording":
            now = games(run)
            assert kept.items() <= now.items(), "a game was changed"
            assert len(now) == len(kept) + len(expected)
        else:
            self._require_same(work, run)

    def _require_same(self, work: Work, run: Path) -> None:
        found, expected = digest(work, run), self._reference(work).digest
        assert found == expected, (found, expected)

    def _inputs(self) -> dict[str, str]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        mine = (path for path in found if not any(part.startswith("trial") for part in path.parts))
        return {str(path): _digest(path) for path in mine if not leftovers(path)}


def _install(disk: Disk) -> None:
    """In the child: put the disk in its place; every episode that is written is a note on stderr, as are the calls."""
    write, leave = DatasetWriter.write, os._exit

    def noted(self: DatasetWriter, episode: Episode) -> Path:
        made = write(self, episode)
        os.write(2, f"note: wrote {_digest(made)} {made.absolute()}\n".encode())
        return made

    def leaving(code: int) -> None:
        os.write(2, f"note: calls {disk.calls}\n".encode())
        leave(code)

    DatasetWriter.write = noted  # type: ignore[method-assign]
    os._exit = leaving  # type: ignore[assignment]
    disk.install()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
