"""Wrong command lines, drawn from the declarations of every command: `python -m tests.conf.wrong_lines 3000`.

Each is a right line with one mistake, and runs in a fork, in an empty folder, as its console script would. It has to
end with code 2 and one line on stderr that begins with the program's name, and to write nothing. Exit code 1, and the
lines, where one does not. A seed (--seed) decides them all.
"""

import argparse
import functools
import multiprocessing
import os
import random
import shlex
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from itertools import repeat
from pathlib import Path
from typing import Any

from qwop.common.checks import Declaration, allows_none, without_none
from qwop.common.command import Command
from qwop.common.settings import declarations
from qwop.datasets.main import VERBS
from qwop.evaluation.watch_command import main as watch
from qwop.play.main import main as play
from qwop.search.command import main as search
from qwop.search.distil_command import main as distil

from .declared import LINES, composed, every_declaration, wrong_values

MORE: list[tuple[Command[Any], list[str]]] = [
    (watch, ["policy=champion"]),
    (play, []),
    (search, []),
    (distil, ["games=[a]"]),
    *((import_module(module).command, ["dataset=a", "out=b"]) for module, _ in VERBS.values()),
]
"""Right lines of the commands that `LINES` lacks. Few verbs of qwop-dataset need more, or take no `out`."""

Draw = random.Random

BROKEN = (
    "[",
    "]",
    "{",
    "[1,",
    "{a:",
    "'",
    '"',
    "a b=1",
    "=",
    "=1",
    "+",
    "~",
    "++",
    "a..b=1",
    ".=1",
    "seed",
    "--sead",
    "-x",
)
"""Arguments that are no setting in any form."""


class RightLine:
    """A command with a right line, and mistakes in it."""

    def __init__(self, command: Command[Any], line: list[str]) -> None:
        taken = declarations(command.settings)
        self.command = command
        self.line = [one for one in line if one.partition("=")[0].partition(".")[0].lstrip("+") in taken]
        self.settings = [*every_declaration(command.settings, composed(command, self.line))]

    def mistake(self, draw: Draw) -> list[str]:
        """A wrong command line."""
        return [*self.line, *draw.choice((self._value, self._value, self._value, self._name, self._broken))(draw)]

    def _value(self, draw: Draw) -> list[str]:
        """A value that its setting refuses."""
        while True:
            place, hint, spec = draw.choice(self.settings)
            if values := typed(hint, spec):
                return [f"{place}={draw.choice(values)}"]

    def _name(self, draw: Draw) -> list[str]:
        """A setting that is none, in a group that is there."""
        place = draw.choice(self.settings)[0]
        group, dot, name = place.rpartition(".")
        at = draw.randrange(len(name))
        wrong = name[:at] + draw.choice("qxz") + name[at:]
        return [f"{draw.choice(('', '+', '++'))}{group}{dot}{wrong}={draw.choice(('1', 'a', '[1]', ''))}"]

    def _broken(self, draw: Draw) -> list[str]:
        return [draw.choice(BROKEN)]


def typed(hint: Any, spec: Declaration) -> list[str]:
    """Values that a setting must refuse, as a person types them. Whatever is typed for a text is a text."""
    kind = without_none(hint)
    if spec.parse is not None:
        return []
    if kind is str:
        return ["", *(["nonsense"] if spec.choices else []), *([] if allows_none(hint) else ["null"])]
    return [_typed(value) for value in wrong_values(hint, spec)]


def _typed(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return f"[{','.join(map(_typed, value))}]"
    return "" if value == "" else str(value)


def run(command: Command[Any], arguments: list[str], folder: Path) -> tuple[int, str, str, list[str]]:
    """Run the line in a fork: its exit code, both streams, and what it left in the folder."""
    (out, said), (err, wrong) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(said, 1)
            os.dup2(wrong, 2)
            os.chdir(folder)
            sys.argv = [command.program, *arguments]
            command()
            code = 0
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(said)
    os.close(wrong)
    streams = []
    for end in (out, err):
        with os.fdopen(end, "rb") as file:
            streams.append(file.read().decode(errors="replace"))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), *streams, sorted(os.listdir(folder))  # type: ignore[return-value]


def judged(command: Command[Any], found: tuple[int, str, str, list[str]]) -> str | None:
    """Complaint about an end; None if it is as it should be."""
    code, out, err, left = found
    lines = [line for line in err.splitlines() if line]
    if code != 2:
        return f"exit code {code}: {err[-300:]}"
    if len(lines) != 1 or not lines[0].startswith(command.program):
        return f"{len(lines)} lines: {err[:300]}"
    if out or left:
        return f"said {out[:200]!r}, left {left}"
    return None


@functools.cache
def right_lines() -> list[RightLine]:
    """A right line of every command, with every option of its groups."""
    return [RightLine(*one) for one in (*LINES, *MORE)]


def tried(numbers: range, seed: int) -> tuple[dict[str, int], list[str]]:
    """Try the mistakes of these numbers; how many by program, and what was wrong with those that ended otherwise."""
    counts, failed = Counter[str](), []
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            chosen = right_lines()[number % len(right_lines())]
            arguments = chosen.mistake(random.Random(f"{seed} {number}"))
            counts[chosen.command.program] += 1
            if why := judged(chosen.command, run(chosen.command, arguments, Path(folder))):
                failed.append(f"{shlex.join([chosen.command.program, *arguments])}\n  {why}")
    return counts, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=3000)
    parser.add_argument("--seed", type=int, default=0, help="decides the mistakes (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share them (1)")
    asked = parser.parse_args()
    since = time.monotonic()
    right_lines()  # before the processes share them
    shares = [range(job, asked.count, asked.jobs) for job in range(asked.jobs)]
    with ProcessPoolExecutor(asked.jobs, multiprocessing.get_context("fork")) as pool:
        found = list(pool.map(tried, shares, repeat(asked.seed))) if asked.jobs > 1 else []
    found = found or [tried(shares[0], asked.seed)]
    counts, failed = Counter[str](), []
    for ran, wrong in found:
        counts.update(ran)
        failed += wrong
    print("\n".join([*failed, ""]), end="")
    said = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    took = time.monotonic() - since
    print(f"{asked.count - len(failed)} of {asked.count} wrong lines refused in a line ({said}) in {took:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
