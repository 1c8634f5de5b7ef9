"""Faults at random moments of small runs: `python tests/faults --moments 100`; a disk with faults: `--seeds 1000`.

For each kind of work and each fault, so many moments drawn uniformly over the run; a table says how many were survived.
Exit code 1, and what went wrong, where one was not. Linux only.

With --seeds, each seed decides a work, a fault of its disk and the call at which it comes (`disk.py`, `simulator.py`);
a seed that fails prints the command that repeats it.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import children
from simulator import QUICK, Simulator
from trials import FAULTS, Trials, can_mount, prepare
from work import WORK


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=100, help="of each fault in each work (100)")
    parser.add_argument("--work", nargs="+", choices=[*WORK], default=[*WORK], help="all unless given")
    parser.add_argument("--faults", nargs="+", choices=[*FAULTS], default=[*FAULTS], help="all unless given")
    parser.add_argument("--seed", type=int, default=0, help="draws the moments (0)")
    parser.add_argument("--keep", type=Path, help="folder to work in, which then stays; default: a temporary one")
    parser.add_argument("--seeds", type=int, default=0, help="simulate so many seeds instead (0)")
    parser.add_argument("--first", type=int, default=0, help="the first of these (0)")
    parser.add_argument("--quick", action="store_true", help="only works of less than a second")
    asked = parser.parse_args()
    children.preload()
    with tempfile.TemporaryDirectory(prefix="qwop-faults-") as temporary:
        folder = (asked.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
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
    works = tuple(name for name in asked.work if not asked.quick or name in QUICK)
    simulator = Simulator(folder, works)
    failed, counts, since = 0, Counter[str](), time.monotonic()
    for seed in range(asked.first, asked.first + asked.seeds):
        try:
            counts[simulator.run(seed).rpartition(": ")[2]] += 1
        except AssertionError as error:
            failed += 1
            work, fault = simulator.drawn(seed)
            given = "--quick" if asked.quick else " ".join(["--work", *(f"'{name}'" for name in works)])
            again = f"python tests/faults --seeds 1 --first {seed} {given}"
            print(f"{work.name}, {fault}: {str(error)[:3000]}\n  again: {again}", file=sys.stderr, flush=True)
    took = time.monotonic() - since
    survived = ", ".join(f"{count} {how}" for how, count in sorted(counts.items()))
    print(f"{asked.seeds - failed} of {asked.seeds} seeds survived ({survived}) in {took:.0f} s", flush=True)
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
