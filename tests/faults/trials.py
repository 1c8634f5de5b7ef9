"""One fault at a random moment of one run, and what must be true afterwards.

A trial raises AssertionError where something finished was lost, half-written, left over, or not as in a run without
faults. It returns True where the fault came while the run was under way.
"""

import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import children
import work as works
from children import Child, End
from work import Work, digest, games, require_clean, require_whole


@dataclass(frozen=True)
class Reference:
    """A run without faults: what it came to, its seconds, and the size of what it wrote and of its largest file."""

    digest: dict[str, str]
    seconds: float
    size: int
    largest: int


class Trials:
    """Trials of one kind of work in one folder, which has what the work reads (`work.prepare`)."""

    def __init__(self, work: Work, folder: Path, reference: Reference | None = None) -> None:
        self.work, self.folder = work, folder
        self.reference = reference or self._reference()

    def kill(self, random: float) -> bool:
        """SIGKILL: finished files are whole, and the resumed run equals the uninterrupted one."""
        run, child = self._start()
        child.wait_at_most(random * self.reference.seconds)
        child.send(signal.SIGKILL)
        end = child.wait()
        self._finish(run)
        return end.code == -signal.SIGKILL

    def interrupt(self, random: float, number: signal.Signals) -> bool:
        """SIGINT, SIGTERM or SIGHUP: one line, its exit code, and the resumed run equals the uninterrupted one."""
        run, child = self._start()
        child.wait_at_most(random * self.reference.seconds)
        child.send(number)
        end = child.wait()
        if end.code != 0:
            assert end.code == 128 + number, end
            assert end.said == [f"{children.program(self.work.arguments[0])}: interrupted"], end
            if self.work.resumes and "stopped after" in end.out:
                assert "the same command with resume=true" in end.out, end
        self._finish(run)
        return end.code != 0

    def full_disk(self, random: float) -> bool:
        """A file system that is full: one line, exit code 2; with room again, the run ends as one without faults."""
        place = self.folder / "small"
        place.mkdir(exist_ok=True)
        size = 2 * self.reference.size + 2**20
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
        try:
            for path in self.folder.iterdir():
                if path.suffix == ".safetensors" or path.name == "demonstrations":
                    (place / path.name).symlink_to(path)
            free = int(random * self.reference.size)
            with (place / "filler").open("wb") as filler:
                filler.truncate(0)
                left = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize - free
                os.posix_fallocate(filler.fileno(), 0, max(left, 4096))
            end = children.run(self.work.command("trial"), place)
            stopped = self._require_one_line(end)
            require_whole(place / "trial")
            (place / "filler").unlink()
            self._finish(place / "trial", {"games at": "another place"} if stopped else {})
        finally:
            subprocess.run(["umount", "-l", str(place)], check=True)
        return stopped

    def file_limit(self, random: float) -> bool:
        """A limit on the size of a file (ulimit -f), as for a full disk."""
        run = self._new()
        limit = int(random * self.reference.largest)

        def lower() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        end = children.run(self.work.command(run.name), self.folder, lower)
        stopped = self._require_one_line(end)
        require_whole(run)
        self._finish(run)
        return stopped

    def gone(self, random: float, file_instead: bool) -> bool:
        """The folder is moved away while the run is under way, and a file may take its name: one line, no traceback."""
        run, child = self._start()
        child.wait_at_most(random * self.reference.seconds)
        away = self.folder / "away"
        shutil.rmtree(away, ignore_errors=True)
        moved = run.is_dir()
        if moved:
            run.rename(away)
            if file_instead:
                run.write_text("in the way")
        end = child.wait()
        stopped = self._require_one_line(end)
        require_whole(away)
        if run.is_file():
            assert run.read_text() == "in the way"
            run.unlink()
        else:
            require_whole(run)
        return stopped and moved

    def clock(self, random: float) -> bool:
        """A clock that jumps, also backwards: the run ends as one without."""
        run = self._new()

        def jump() -> None:
            real, calls = time.time, [0]

            def jumping() -> float:
                calls[0] += 1
                return real() + (1e8, 0.0, -1e8, -1e9 * random)[calls[0] // 3 % 4]

            time.time = jumping

        end = children.run(self.work.command(run.name), self.folder, jump)
        assert end.code == 0, end
        self._require_same(run)
        return True

    def two_at_once(self, random: float) -> bool:
        """Two processes on one folder: games of both are kept; a second run is refused, or has nothing to do."""
        run, first = self._start()
        first.wait_at_most(random * self.reference.seconds)
        if self.work.name == "recording":
            other = list(self.work.command(run.name, "source.seed=1"))
            second = children.run(other, self.folder)
            assert (first.wait().code, second.code) == (0, 0), second
            assert len(games(run)) == 2 * len(self.reference.digest)
            return True
        second = children.run(self.work.command(run.name), self.folder)
        end = first.wait()
        assert end.code == 0, end
        if second.code != 0:
            assert second.code == 2, second
            assert len(second.said) == 1, second
        self._require_same(run)
        return second.code == 2

    def _reference(self) -> Reference:
        ends = []
        for _ in range(2):  # the first also fills caches
            run = self._new()
            ends.append(children.run(self.work.command(run.name), self.folder))
            assert ends[-1].code == 0, ends[-1]
        require_whole(run)
        require_clean(run)
        sizes = [path.stat().st_size for path in run.rglob("*") if path.is_file()]
        seconds = sorted(end.seconds for end in ends)[0]
        return Reference(digest(self.work, run), seconds, sum(-(-size // 4096) * 4096 for size in sizes), max(sizes))

    def _new(self, name: str = "trial") -> Path:
        run = self.folder / name
        if run.is_file():
            run.unlink()
        shutil.rmtree(run, ignore_errors=True)
        if self.work.copies:
            shutil.copytree(self.folder / self.work.copies, run)
        return run

    def _start(self) -> tuple[Path, Child]:
        run = self._new()
        return run, Child(self.work.command(run.name), self.folder)

    def _finish(self, run: Path, note: dict[str, str] | None = None) -> None:
        """Check what the interrupted run left, go on with it, and compare the end."""
        require_whole(run)
        kept = games(run) if self.work.name == "recording" else {}
        if kept and not note:
            assert kept.items() <= self.reference.digest.items(), "a game differs from that of the run without faults"
        if self.work.name == "evaluating" and (run / "evaluation.json").exists():
            shutil.rmtree(run)
        if self._is_over(run):
            return
        end = children.run(self.work.again(run), run.parent, then=self.work.check(run))
        assert end.code == 0, end
        require_whole(run)
        require_clean(run)
        if self.work.name == "recording":
            now = games(run)
            assert kept.items() <= now.items(), "a game was changed"
            assert len(now) == len(kept) + len(self.reference.digest)
        else:
            self._require_same(run)

    def _is_over(self, run: Path) -> bool:
        """Work that refuses to be done twice, and is done."""
        over = bool(self.work.over) and (run / self.work.over).exists()
        if over:
            self._require_same(run)
            if check := self.work.check(run):
                end = children.run(check, run.parent)
                assert end.code == 0, end
        return over

    def _require_same(self, run: Path) -> None:
        found = digest(self.work, run)
        assert found == self.reference.digest, (found, self.reference.digest)

    def _require_one_line(self, end: End) -> bool:
        """One line on stderr, beside notes, and exit code 2; or nothing happened."""
        if end.code == 0:
            return False
        assert end.code == 2, end
        (line,) = [one for one in end.said if not one.startswith("note: ")]
        assert line.startswith(f"{children.program(self.work.arguments[0])}: "), end
        return True


def can_mount(folder: Path) -> bool:
    """Tell whether small file systems can be mounted here (as root, on Linux)."""
    probe = folder / "probe"
    probe.mkdir(exist_ok=True)
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(probe)], capture_output=True, check=False
        )
        if done.returncode == 0:
            subprocess.run(["umount", str(probe)], check=True)
        return done.returncode == 0
    except OSError:  # no such program
        return False
    finally:
        probe.rmdir()


Trial = Callable[[Trials, float], bool]

FAULTS: dict[str, Trial] = {
    "SIGKILL": Trials.kill,
    "SIGINT": lambda trials, random: trials.interrupt(random, signal.SIGINT),
    "SIGTERM": lambda trials, random: trials.interrupt(random, signal.SIGTERM),
    "SIGHUP": lambda trials, random: trials.interrupt(random, signal.SIGHUP),
    "full disk": Trials.full_disk,
    "file-size limit": Trials.file_limit,
    "folder gone": lambda trials, random: trials.gone(random, file_instead=False),
    "file in its place": lambda trials, random: trials.gone(random, file_instead=True),
    "clock": Trials.clock,
    "two at once": Trials.two_at_once,
}

prepare = works.prepare
