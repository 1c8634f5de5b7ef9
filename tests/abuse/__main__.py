"""Abuse of the commands, by seeds: `python -m tests.abuse runs --seeds 1000`. Linux only.

    runs      a fault in a run of a command: signals, a disk that fails, a folder that goes, two at once
    files     files that are not what they claim to be
    lines     command lines with a mistake
    page      signals to a recorder while a client plays on its page
    browser   kills of recorder, browser and connection while a real browser plays

A seed that fails prints the line that repeats it, and makes the exit code 1.
"""

import argparse
import functools
import importlib
import os
import shlex
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from . import children

CASES = {"runs": "Runs", "files": "Files", "lines": "Lines", "page": "Pages", "browser": "Browsers"}

FAILED = "failed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", choices=[*CASES])
    parser.add_argument("--seeds", type=int, default=100, help="how many (100)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (0)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="works, kinds of files, commands or signals")
    parser.add_argument("--faults", nargs="+", metavar="FAULT", help="faults of runs")
    parser.add_argument("--quick", action="store_true", help="only works of less than a second")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the seeds (1)")
    asked = parser.parse_args()
    cases = getattr(importlib.import_module(f".{asked.cases}", __package__), CASES[asked.cases])
    only = asked.only or (cases.QUICK if asked.quick else cases.NAMES)
    for option, given, known in (("only", only, cases.NAMES), ("faults", asked.faults, getattr(cases, "FAULTS", ()))):
        if unknown := [name for name in given or () if name not in known]:
            parser.error(f"--{option} {unknown[0]}: expected some of {', '.join(known)}")
    since = time.monotonic()
    children.preload()
    pool = ProcessPoolExecutor(asked.jobs, children.FORK)
    with tempfile.TemporaryDirectory(prefix="qwop-abuse-") as temporary, pool:
        job = functools.partial(_job, asked, cases, only, Path(temporary).resolve())
        counts = sum(pool.map(job, range(asked.jobs)), Counter[str]())
    failed, count = counts[FAILED], counts.total()
    for name, number in sorted(counts.items()):
        print(f"{number:6} {name}")
    print(f"{count - failed} of {count} seeds survived in {time.monotonic() - since:.0f} s", flush=True)
    return 1 if failed or not count else 0


def _job(asked: argparse.Namespace, cases: Any, only: list[str], folder: Path, job: int) -> Counter[str]:
    """Try every so many seeds in a process and a folder of its own; how often they ended in which way."""
    counts = Counter[str]()
    folder = folder / f"job-{job}"
    folder.mkdir()
    os.chdir(folder)  # where settings look for files
    trials = cases(folder, only, asked.faults) if asked.faults else cases(folder, only)
    for seed in range(asked.first + job, asked.first + asked.seeds, asked.jobs):
        try:
            counts[trials.run(seed)] += 1
        except Exception as error:
            counts[FAILED] += 1
            words = ["--quick"] * asked.quick
            for option, names in (("--only", asked.only), ("--faults", asked.faults)):
                words += [option, *names] if names else []
            again = shlex.join(f"python -m tests.abuse {asked.cases} --seeds 1 --first {seed}".split() + words)
            print(f"{type(error).__name__}: {str(error)[:3000]}\n  again: {again}", file=sys.stderr, flush=True)
    return counts


if __name__ == "__main__":
    sys.exit(main())
