"""Mutation testing: faults, put into a copy of the source one by one, and tests to notice.

    python tests/mutation/mutants.py
    python tests/mutation/mutants.py --only acer --out mutants.md
    python tests/mutation/mutants.py --generated 150 --seed 0
    python tests/mutation/mutants.py --generated 50 --folders datasets/editing evaluation

A mutant is killed if the tests beside the changed file fail, or take for ever. Without `--generated`, which draws
mechanical faults from all of the learning code or from `--folders`, they are those of `named_faults.py`. Prints a line
for each and the score, and exits with 1 if one survives.

The tests of each folder first run without a fault. Then a fork of this process, which has imported what is never
changed, runs them for each mutant, the quick ones first; those that take longer than `--longest` are left out.
"""

import argparse
import contextlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from generated_mutants import Change, sample
from named_faults import FAULTS, Mutant

ROOT = Path(__file__).parents[2]
COPIED = shutil.ignore_patterns(
    ".git", "runs", "data", "site", "__pycache__", ".*_cache", ".hypothesis", ".venv", "build"
)

LEARNING = ("finetune/agents", "finetune/replay", "finetune/experience", "finetune/schedules")
"""Folders whose code is changed mechanically, unless others are named."""

LIBRARIES = ("torch", "torch._dynamo", "hydra", "hypothesis")
"""Slow to import; the first optimiser imports `torch._dynamo`."""

BELOW = ("qwop.policies.files", "qwop.datasets.writer", "qwop.evaluation.evaluate")
"""Modules below the learning code, as slow to import; they are of `BELOW_FOLDERS`, as is all that they import."""

BELOW_FOLDERS = ("common", "envs", "policies", "datasets", "evaluation")

PATIENCE = 60.0
"""Seconds more than three times what the tests take without a fault, before a mutant counts as one that never ends."""


SURVIVED = "SURVIVED"

OWN_FILES_ONLY = ("tests/finetune",)
"""Folders whose subfolders have tests of other files."""

FIRST = ("test_wiring.py", "test_update.py", "test_losses.py")
"""Tests that run before the others in their folder: they notice most."""


Fault = Mutant | Change
"""A change of one file, by `applied`; `file` and `name` say which."""


@dataclass
class Tests:
    """Pytest plugin: runs the tests of a folder in the order of the seconds that they take.

    known: seconds by test, from the run without a fault; None in that run. Tests that take more than `longest` are left
    out, unless it is None.
    """

    known: dict[str, float] | None = None
    longest: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.known is None:
            return
        took = self.known
        kept = [item for item in items if self.longest is None or took.get(item.nodeid, 0.0) <= self.longest]
        items[:] = sorted(kept, key=lambda item: (item.path.name not in FIRST, took.get(item.nodeid, 0.0)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=int, metavar="N", help="N mechanical mutants instead of the named ones")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of mechanical mutants")
    parser.add_argument("--folders", nargs="+", default=LEARNING, help="folders of mechanical mutants")
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--longest", type=float, default=5.0, help="seconds of a test that may take part")
    parser.add_argument("--out", type=Path, help="write the lines to this file, too")
    asked = parser.parse_args()
    if missing := [folder for folder in asked.folders if not (ROOT / folder).is_dir()]:
        parser.error(f"--folders {missing[0]}: no such folder")
    faults = FAULTS if asked.generated is None else sample(ROOT, asked.folders, asked.generated, asked.seed)
    chosen = [fault for fault in faults if asked.only in fault.name]
    out = None if asked.out is None else asked.out.resolve()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "source"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=COPIED)
        prepare(copy, preloaded(chosen))
        runs = {tests: without_fault(tests) for tests in dict.fromkeys(map(tests_beside, chosen))}
        start = time.perf_counter()
        for fault in chosen:
            lines.append(f"{fate(fault, copy, runs[tests_beside(fault)], asked.longest)}: {fault.name}")
            print(lines[-1], flush=True)
        seconds = time.perf_counter() - start
        os.chdir(ROOT)
    number = sum(not line.startswith(SURVIVED) for line in lines)
    lines.append(f"{number} of {len(chosen)} killed")
    print(f"{lines[-1]}, in {seconds:.0f} s")
    if out is not None:
        out.write_text("\n".join(lines) + "\n")
    return int(number < len(chosen))


def preloaded(faults: Sequence[Fault]) -> tuple[str, ...]:
    """Modules to import once, before any mutant: slow to import, and changed by none of these."""
    changes_below = any(fault.file.split("/")[0] in BELOW_FOLDERS for fault in faults)
    return LIBRARIES if changes_below else (*LIBRARIES, *BELOW)


def prepare(copy: Path, modules: Sequence[str]) -> None:
    """Go to the copy, whose package comes before the installed one from now on, and import the modules."""
    os.chdir(copy)
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(copy / ".typing"))
    for name in modules:
        importlib.import_module(name)


def tests_beside(fault: Fault) -> str:
    """The folder of tests that mirrors that of the changed file."""
    return f"tests/{Path(fault.file).parent.as_posix()}"


def without_fault(tests: str) -> dict[str, float]:
    """The seconds that each test of a folder takes; exits if one fails."""
    code, seconds = run(tests, Tests(), timeout=3600.0)
    if code != 0:
        sys.exit(f"{tests}: fails without any fault, and would notice all of them; mend it first")
    return seconds


def fate(fault: Fault, copy: Path, known: dict[str, float], longest: float) -> str:
    """Fate of a fault: 'killed' by a test, 'killed by time', or survived; the copy is as before afterwards."""
    path = copy / fault.file
    source = path.read_text()
    path.write_text(fault.applied(source))
    timeout = PATIENCE + 3.0 * sum(one for one in known.values() if one <= longest)
    try:
        code, _ = run(tests_beside(fault), Tests(known, longest), timeout)
        return {0: SURVIVED, -9: "killed by time"}.get(code, "killed")
    finally:
        path.write_text(source)


def run(tests: str, plugin: Tests, timeout: float) -> tuple[int, dict[str, float]]:
    """Run a folder of tests in a fork, up to the first failure: its exit code, and the seconds of each test.

    A fork that is not done in time is killed, and its code is that of the signal.
    """
    told = Path("seconds.json")
    told.unlink(missing_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where threads run: those of torch sleep
        child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            _work(tests, plugin, told)
        os._exit(3)
    deadline = time.monotonic() + timeout
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, 9)
            done = os.waitpid(child, 0)
            break
        time.sleep(0.05)
    return os.waitstatus_to_exitcode(done[1]), json.loads(told.read_text()) if told.exists() else {}


def _work(tests: str, plugin: Tests, told: Path) -> None:
    """The fork's part: run the tests, write their seconds to `told`, and end with pytest's exit code."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    files = sorted(map(str, Path(tests).glob("test_*.py"))) if tests in OWN_FILES_ONLY else [tests]
    # Whole commands may take longer than pytest permits where others use the cores, too; the caller has its own limit.
    arguments: list[Any] = ["-x", "-q", "-m", "not exhaustive", "-p", "no:cacheprovider", "--timeout=0", *files]
    code = int(pytest.main(arguments, plugins=[plugin]))
    told.write_text(json.dumps(plugin.seconds))
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
