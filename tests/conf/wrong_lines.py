"""Wrong command lines, drawn from the declarations of every command: `python -m tests.conf.wrong_lines 3000`.

Each is a right line with one mistake (`mistakes.py`), and runs in a fork as its console script would, in a folder with
a dataset, a pipe and the like. It has to end with code 2 and one line on stderr that begins with the program's name, to
say nothing on stdout, and to leave the folder as it was. Exit code 1, and the lines, where one does not. A seed
(--seed) decides them all; --processes runs the first so many as real processes, too, which have to say the same.
"""

import argparse
import functools
import gc
import multiprocessing
import os
import random
import shlex
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from itertools import repeat
from pathlib import Path

import qwop.commands

from .mistakes import RightLine, WrongVerbs, furnish, right_lines

SECONDS = 60
"""Most that a line may take."""

LONGEST = 1000
"""Characters of a line that a person still reads."""

WORK = (
    "coach.main", "datasets.report", "evaluation.main", "evaluation.watch", "finetune.training", "play.site",
    "population.run", "pretrain.main", "pretrain.reestimate_main", "recorder.main", "search.distil_main", "search.main",
    "study.main",
)  # fmt: skip
"""Imports of the commands when they run, done before the forks."""


@dataclass(frozen=True)
class End:
    """End of a command: its exit code and what it said."""

    code: int
    out: str
    err: str


def run(program: str, arguments: list[str], folder: Path) -> End:
    """Run the line in a fork, in this folder."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            _call(program, arguments, folder)
        _, status = os.waitpid(child, 0)
        said = [os.pread(file.fileno(), 2**20, 0).decode(errors="replace") for file in (out, err)]
    return End(os.waitstatus_to_exitcode(status), *said)


def _call(program: str, arguments: list[str], folder: Path) -> None:
    """In the child: do as the console script does, and leave."""
    code = 1
    try:
        os.chdir(folder)
        signal.alarm(SECONDS)
        sys.argv = [program, *arguments]
        getattr(qwop.commands, program.removeprefix("qwop-"))()
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_process(program: str, arguments: list[str], folder: Path) -> End:
    """Run the line as a person does."""
    script = Path(sysconfig.get_path("scripts")) / program
    done = subprocess.run([script, *arguments], cwd=folder, capture_output=True, timeout=2 * SECONDS, check=False)
    return End(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def complaint(program: str, end: End) -> str | None:
    """Complaint about an end; None if it is as it should be."""
    lines = [line for line in end.err.splitlines() if line]
    if end.code == -signal.SIGALRM:
        return f"still running after {SECONDS} s: {end.err[-300:]}"
    if end.code != 2:
        return f"exit code {end.code}: {end.err[-300:] or end.out[-300:]}"
    if len(lines) != 1 or not lines[0].startswith(program) or not lines[0].isprintable():
        return f"{len(lines)} lines: {end.err[:300]!r}"
    if len(lines[0]) > LONGEST:
        return f"a line of {len(lines[0])} characters: {lines[0][:300]}"
    return f"said {end.out[:200]!r}" if end.out else None


def contents(folder: Path) -> dict[str, tuple[int, ...]]:
    """Kind of everything in a folder, and size and time of its files."""
    found = ((path, path.lstat()) for path in folder.rglob("*"))
    return {str(path): (one.st_mode, *(() if path.is_dir() else (one.st_size, one.st_mtime_ns))) for path, one in found}


@functools.cache
def lines() -> list[RightLine | WrongVerbs]:
    return right_lines()


def tried(numbers: range, seed: int, processes: int = 0) -> tuple[dict[str, int], int]:
    """Try the mistakes of these numbers, and print those that end otherwise; how many by program and kind, and how many
    failed."""
    counts, failed = Counter[str](), 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        furnish(folder)
        before = contents(folder)
        for number in numbers:
            chosen = lines()[number % len(lines())]
            kind, arguments = chosen.mistake(random.Random(f"{seed} {number}"))
            counts.update((chosen.program, kind))
            end = run(chosen.program, arguments, folder)
            why = complaint(chosen.program, end)
            if number < processes and (other := run_process(chosen.program, arguments, folder)) != end:
                why = f"as a process it ends with {other}, else with {end}"
            if (after := contents(folder)) != before:
                why = f"changed {sorted(dict(after.items() ^ before.items()))}; {why}"
                before = after
            if why:
                failed += 1
                print(f"{shlex.join([chosen.program, *arguments])[:1000]}\n  {number}, {kind}: {why}", flush=True)
    return counts, failed


def preload() -> None:
    """Import all that the commands import; no thread may be started before the forks."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    for module in WORK:
        import_module(f"qwop.{module}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=3000)
    parser.add_argument("--seed", type=int, default=0, help="decides the mistakes (0)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share them (1)")
    parser.add_argument(
        "--processes", type=int, default=0, help="run the lines up to this number as processes, too (0)"
    )
    asked = parser.parse_args()
    since = time.monotonic()
    preload()
    lines()  # before the processes share them
    gc.freeze()  # or each fork copies what its collector counts
    shares = [range(asked.first + job, asked.first + asked.count, asked.jobs) for job in range(asked.jobs)]
    if asked.jobs > 1:
        with ProcessPoolExecutor(asked.jobs, multiprocessing.get_context("fork")) as pool:
            found = list(pool.map(tried, shares, repeat(asked.seed), repeat(asked.processes)))
    else:
        found = [tried(shares[0], asked.seed, asked.processes)]
    counts, failed = Counter[str](), 0
    for ran, wrong in found:
        counts.update(ran)
        failed += wrong
    said = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    took = time.monotonic() - since
    print(f"{asked.count - failed} of {asked.count} wrong lines refused in a line ({said}) in {took:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
