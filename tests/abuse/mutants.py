"""Mutation testing by Cosmic Ray: `python tests/abuse/mutants.py --count 200 finetune pretrain`.

Draws mutants of the folders' code and runs, for each, the tests beside the changed file in a copy of the project.
Prints the changes that no test notices, and the share that was noticed.
"""

import argparse
import os
import random
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome

ROOT = Path(__file__).parents[2]

LEFT_OUT = shutil.ignore_patterns(".git", "runs", "data", "site", "__pycache__", ".*_cache", ".venv", "build")

ANNOTATIONS = "BinaryOperator_BitOr"
"""Changes of `int | None`, which nothing but a type checker sees."""

PATIENCE = 1800.0
"""Seconds before a mutant counts as one that never ends; a test that takes five minutes fails before."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", help="folders of code")
    parser.add_argument("--count", type=int, default=200, help="number of mutants (200)")
    parser.add_argument("--seed", type=int, default=0, help="draws them (0)")
    asked = parser.parse_args()
    if missing := [folder for folder in asked.folders if not (ROOT / folder).is_dir()]:
        parser.error(f"{missing[0]}: no such folder")
    with tempfile.TemporaryDirectory(prefix="qwop-mutants-") as temporary:
        copy = Path(temporary) / "source"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=LEFT_OUT)
        os.chdir(copy)
        os.environ.update(PYTHONPATH=str(copy / ".typing"), OMP_NUM_THREADS="1")  # this package, not the installed one
        files = sorted(path for folder in asked.folders for path in Path(folder).rglob("*.py"))
        with use_db(f"{temporary}/session.sqlite", WorkDB.Mode.create) as session:
            init([path for path in files if path.name != "settings.py"], session, {})  # defaults, which no test repeats
            mutations = sorted((one.mutations[0] for one in session.work_items), key=str)
        mutations = [one for one in mutations if ANNOTATIONS not in one.operator_name]
        chosen = random.Random(asked.seed).sample(mutations, min(asked.count, len(mutations)))
        commands = {one.module_path: command_of(Path(one.module_path)) for one in chosen}
        for command in {*commands.values()}:
            outcome, output = run_tests(command, PATIENCE)
            if outcome != TestOutcome.SURVIVED:
                sys.exit(f"{command} fails without any change; mend it first\n{output[-2000:]}")
        unseen = 0
        for mutation in chosen:
            result = mutate_and_test([mutation], commands[mutation.module_path], PATIENCE)
            survived = result.test_outcome == TestOutcome.SURVIVED
            unseen += survived
            place = f"{mutation.module_path}:{mutation.start_pos[0]} {mutation.operator_name}"
            print(f"UNSEEN {place}\n{result.diff}" if survived else f"seen   {place}", flush=True)
        os.chdir(ROOT)
    print(f"{len(chosen) - unseen} of {len(chosen)} seen")
    return 0


def command_of(file: Path) -> str:
    """The line that runs the tests in the folder that mirrors that of the changed file, or one above it."""
    tests = next(f"tests/{folder}" for folder in file.parents if Path(f"tests/{folder}").is_dir())
    return f"{shlex.quote(sys.executable)} -m pytest -x -p no:cacheprovider --timeout=300 {tests}"


if __name__ == "__main__":
    sys.exit(main())
