"""Faults at random moments of small runs: `python tests/faults --moments 100`.

For each kind of work and each fault, so many moments drawn uniformly over the run; a table says how many were survived.
Exit code 1, and what went wrong, where one was not. Linux only.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import children
from trials import FAULTS, Trials, can_mount, prepare
from work import WORK


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=100, help="of each fault in each work (100)")
    parser.add_argument("--work", nargs="+", choices=[*WORK], default=[*WORK], help="all unless given")
    parser.add_argument("--faults", nargs="+", choices=[*FAULTS], default=[*FAULTS], help="all unless given")
    parser.add_argument("--seed", type=int, default=0, help="draws the moments (0)")
    parser.add_argument("--keep", type=Path, help="folder to work in, which then stays; default: a temporary one")
    asked = parser.parse_args()
    children.preload()
    with tempfile.TemporaryDirectory(prefix="qwop-faults-") as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        prepare(folder)
        faults = [fault for fault in asked.faults if fault != "full disk" or can_mount(folder)]
        for fault in asked.faults:
            if fault not in faults:
                print(f"{fault}: left out, for nothing can be mounted here", flush=True)
        return 1 if sum([try_all(name, faults, asked, folder) for name in asked.work]) else 0


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
