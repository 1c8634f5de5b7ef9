"""Faults at random moments of small runs: `python tests/faults --moments 100`; a disk with faults: `--seeds 1000`.

For each kind of work and each fault, so many moments drawn uniformly over the run; a table says how many were survived.
Exit code 1, and what went wrong, where one was not. Linux only.

With --seeds, each seed decides a work, a fault of its disk and the call at which it comes (`disk.py`, `simulator.py`);
a seed that fails prints the command that repeats it. `found.md` lists the seeds that have failed, and why.
"""

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import children
from simulator import QUICK, Simulator
from trials import FAULTS, Reference, Trials, can_mount, prepare
from work import WORK

FAILED = "failed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=100, help="of each fault in each work (100)")
    parser.add_argument("--work", nargs="+", choices=[*WORK], default=[*WORK], help="all unless given")
    parser.add_argument("--faults", nargs="+", choices=[*FAULTS], default=[*FAULTS], help="all unless given")
    parser.add_argument("--seed", type=int, default=0, help="draws the moments (0)")
    parser.add_argument("--keep", type=Path, help="folder to work in, which then stays; default: a temporary one")
    parser.add_argument("--seeds", type=int, default=0, help="simulate so many seeds instead (0)")
    parser.add_argument("--first", type=int, default=0, help="the first of these (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the seeds (1)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no seed after so long (no limit)")
    parser.add_argument("--quick", action="store_true", help="only works of less than a second")
    asked = parser.parse_args()
    children.preload()
    with tempfile.TemporaryDirectory(prefix="qwop-faults-") as temporary:
        folder = (asked.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if asked.seeds and asked.jobs > 1:
            return share(asked, folder)
        prepare(folder)
        os.chdir(folder)  # where settings look for files
        if asked.seeds:
            return simulate(asked, folder)
        faults = [fault for fault in asked.faults if fault != "full disk" or can_mount(folder)]
        for fault in asked.faults:
            if fault not in faults:
                print(f"{fault}: left out, for nothing can be mounted here", flush=True)
        return 1 if sum([try_all(name, faults, asked, folder) for name in asked.work]) else 0


def simulate(asked: argparse.Namespace, folder: Path) -> int:
    """Simulate the seeds; 1 if one failed."""
    since = time.monotonic()
    simulator = Simulator(folder, works_of(asked))
    return report(*simulated(asked, simulator, range(asked.first, asked.first + asked.seeds), since), since)


def works_of(asked: argparse.Namespace) -> tuple[str, ...]:
    return tuple(name for name in asked.work if not asked.quick or name in QUICK)


def simulated(
    asked: argparse.Namespace, simulator: Simulator, seeds: range, since: float
) -> tuple[Counter[str], Counter[str]]:
    """Simulate these seeds, until `asked.seconds` have passed; how many ended in which way, and of which work."""
    ends, done = Counter[str](), Counter[str]()
    for seed in seeds:
        if time.monotonic() - since > asked.seconds:
            break
        work, fault = simulator.drawn(seed)
        done[work.name] += 1
        try:
            ends[simulator.run(seed).rpartition(": ")[2]] += 1
        except AssertionError as error:
            ends[FAILED] += 1
            given = "--quick" if asked.quick else " ".join(["--work", *(f"'{name}'" for name in simulator.works)])
            again = f"python tests/faults --seeds 1 --first {seed} {given}"
            print(f"{work.name}, {fault}: {str(error)[:3000]}\n  again: {again}", file=sys.stderr, flush=True)
    return ends, done


def share(asked: argparse.Namespace, folder: Path) -> int:
    """Simulate the seeds in several processes, each in a folder of its own; 1 if one failed."""
    since, works = time.monotonic(), works_of(asked)
    known: dict[str, tuple[Reference, int]] = {}

    def learn(place: Path, job: int) -> list[tuple[str, dict[str, Any], int]]:
        simulator = Simulator(place, works)
        found = ((name, simulator.without_faults(name)) for name in works[job :: asked.jobs])
        return [(name, asdict(reference), calls) for name, (reference, calls) in found]

    def run(place: Path, job: int) -> tuple[Counter[str], Counter[str]]:
        seeds = range(asked.first + job, asked.first + asked.seeds, asked.jobs)
        return simulated(asked, Simulator(place, works, known), seeds, known_since)

    for part in in_processes(learn, folder, asked.jobs):
        known.update({name: (Reference(**reference), calls) for name, reference, calls in part})
    known_since = time.monotonic()
    ends, done = Counter[str](), Counter[str]()
    for job in in_processes(run, folder, asked.jobs):
        for total, counts in zip((ends, done), job, strict=True):
            total.update(counts)
    return report(ends, done, since)


def in_processes(work: Callable[[Path, int], Any], folder: Path, jobs: int) -> list[Any]:
    """Call `work` with a prepared folder and a number in as many processes; their results, which JSON can hold."""
    pipes = [_forked(work, folder / f"job-{job}", job) for job in range(jobs)]
    results = []
    for pipe in pipes:
        with os.fdopen(pipe) as said:
            results.append(json.loads(said.read()))
    return results


def _forked(work: Callable[[Path, int], Any], folder: Path, job: int) -> int:
    """Start a process that does the work; the end of its pipe."""
    receive, send = os.pipe()
    if os.fork():
        os.close(send)
        return receive
    code = 1
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        prepare(folder)
        os.chdir(folder)
        with os.fdopen(send, "w") as said:
            json.dump(work(folder, job), said)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def report(ends: Counter[str], done: Counter[str], since: float) -> int:
    """Print how the seeds ended; 1 if one failed."""
    failed, count = ends[FAILED], sum(ends.values())
    ways = ", ".join(f"{number} {how}" for how, number in sorted(ends.items()) if how != FAILED)
    works = ", ".join(f"{name} {number}" for name, number in sorted(done.items()))
    took = time.monotonic() - since
    print(f"{count - failed} of {count} seeds survived ({ways}) in {took:.0f} s: {works}", flush=True)
    return 1 if failed else 0


def try_all(name: str, faults: list[str], asked: argparse.Namespace, folder: Path) -> int:
    """Run the trials of one work; the number that failed."""
    failed = 0
    trials = Trials(WORK[name], folder)
    for fault in faults:
        draw = random.Random(f"{asked.seed} {name} {fault}")
        since, survived, struck = time.monotonic(), 0, 0
        for moment in range(asked.moments):
            try:
                # A run that is over before its moment does not count: another moment is drawn, a few times.
                struck += any(FAULTS[fault](trials, draw.random()) for _ in range(3))
                survived += 1
            except AssertionError as error:
                print(f"{name}, {fault}, moment {moment}: {str(error)[:3000]}", file=sys.stderr, flush=True)
        took = (time.monotonic() - since) / asked.moments
        failed += asked.moments - survived
        print(
            f"{name:14} {fault:18} {survived:4} of {asked.moments} survived, {struck} struck while under way; "
            f"a run takes {trials.reference.seconds:.2f} s, a moment {took:.2f} s",
            flush=True,
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
