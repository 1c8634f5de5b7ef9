"""Hostile files of every kind, read in the library and on the command line.

    python -m tests.hostile                 the sample of CI: some of each kind
    python -m tests.hostile 2000            so many, spread over the kinds
    python -m tests.hostile 500 policy keys of these kinds alone

Each is read in a forked process with a limit of memory and time, whose interpreter is watched: nothing may be
started, imported, unpickled, connected or written elsewhere. It has to be read, or refused in one line that names the
file. Exit code 1 and the files in /tmp/hostile if any is not.
"""

import itertools
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from qwop.policies.threads import use_one_thread

from .guard import READ, REFUSED, Ended, run_guarded
from .mutations import CANARY, places
from .originals import make_originals
from .readers import KINDS, Kind, changed_file, on_command_line, prepare, warm

SAMPLE = 130

BY_COMMAND = 12
"""Every so many cases the command line is tried, too."""

KEPT = Path("/tmp/hostile")


def cases(kind: Kind, count: int) -> Iterator[tuple[str, str, object]]:
    """Names, kinds of change and changes of so many cases: all places first, of a small count a part."""
    spots = [("place", name, None) for name in places(Path("x"))]
    step = max(1, len(spots) // max(1, count // 4))
    chosen = spots[::step] if count < 60 else spots
    yield from chosen
    changes = (("change", name, change) for name, change in kind.changes())
    if count < 60:  # a sample looks into all of a kind's list
        changes = itertools.islice(changes, 0, None, 7)
    yield from itertools.islice(changes, max(0, count - len(chosen)))


def try_case(kind: Kind, how: str, name: str, change: object, originals: Path, case: Path, by_command: bool) -> Ended:
    """Make the file and read it in a child."""
    shutil.rmtree(case, ignore_errors=True)
    case.mkdir()
    (case / "out").mkdir()
    copy = case / kind.original

    def make() -> None:
        prepare(kind, originals, case, change if how == "change" else None)  # type: ignore[arg-type]
        if how == "place":
            places(changed_file(kind, copy))[name]()

    aside(make)

    def work() -> None:
        if by_command:
            on_command_line(kind, copy, case / "out")
        else:
            kind.read(copy, case / "out")

    writable = copy if kind.original in ("run", "population", "study") else case / "out"
    return run_guarded(work, copy, writable)


def main(arguments: list[str]) -> int:
    """Try the cases, print a table of each kind, and return the exit code."""
    count = int(arguments[0]) if arguments else SAMPLE
    kinds = {name: KINDS[name] for name in arguments[1:] or KINDS}
    failures: list[str] = []
    use_one_thread()  # a forked process waits for ever for PyTorch's other threads, which it has not got
    with tempfile.TemporaryDirectory(prefix="hostile-") as base:
        work = Path(base).resolve()
        set_traps(work)
        aside(lambda: make_originals(work / "originals"))
        warm(work / "originals", work)
        print(
            f"{'kind':20} {'files':>6} {'read':>6} {'refused':>8} {'wrong':>6} {'most MB':>8} {'longest s':>10} {'took':>7}"
        )
        for name, kind in kinds.items():
            found = _try_kind(name, kind, -(-count // len(kinds)), work)
            print("".join(found), end="", flush=True)
            failures += found
    return 1 if failures else 0


def aside(work: Callable[[], None]) -> None:
    """Do something in a forked process, whose memory and threads are not those that the readers inherit."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "a file could not be made"


def _try_kind(name: str, kind: Kind, count: int, work: Path) -> list[str]:
    began, counts, failures = time.monotonic(), Counter[str](), []
    megabytes = seconds = 0.0
    for number, (how, said, change) in enumerate(cases(kind, count)):
        for by_command in (False, True) if number % BY_COMMAND == 0 else (False,):
            ended = try_case(kind, how, said, change, work / "originals", work / "case", by_command)
            if (work / CANARY).exists():
                (work / CANARY).unlink()
                ended = Ended("ran what it holds", ended.said, ended.seconds, ended.megabytes)
            counts[ended.how] += 1
            megabytes, seconds = max(megabytes, ended.megabytes), max(seconds, ended.seconds)
            if not ended.well:
                kept = KEPT / f"{name.replace(' ', '-')}-{number}"
                shutil.rmtree(kept, ignore_errors=True)
                KEPT.mkdir(exist_ok=True)
                shutil.copytree(work / "case", kept, symlinks=True, ignore=_pipes)
                where = "command line" if by_command else "library"
                failures.append(f"{name}, {said} ({where}): {ended.how}; kept in {kept}\n{ended.said}\n")
    wrong = counts.total() - counts[READ] - counts[REFUSED]
    took = time.monotonic() - began
    print(
        f"{name:20} {counts.total():6} {counts[READ]:6} {counts[REFUSED]:8} {wrong:6} {megabytes:8.0f} {seconds:10.1f} "
        f"{took:6.0f}s",
        flush=True,
    )
    return failures


def set_traps(work: Path) -> None:
    """Go to a folder with a program and a module of the canary's name, both found there, which write the canary."""
    os.chdir(work)
    (work / "bin").mkdir()
    program = work / "bin" / CANARY
    program.write_text(f"#!/bin/sh\ntouch {work / CANARY}\n")
    program.chmod(0o755)
    os.environ["PATH"] = f"{work / 'bin'}:{os.environ['PATH']}"
    (work / f"{CANARY}.py").write_text(f"open({str(work / CANARY)!r}, 'w')\n")
    sys.path.insert(0, str(work))


def _pipes(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not _can_be_kept(Path(folder) / name)]


def _can_be_kept(path: Path) -> bool:
    """True for folders and files of a sensible size; not for pipes, devices and sparse files."""
    return path.is_dir() or (path.is_file() and path.stat().st_size < 100_000_000)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
