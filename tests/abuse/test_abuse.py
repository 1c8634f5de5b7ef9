"""A sample of `python -m tests.abuse`; more of it with `-m exhaustive`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts on Linux's signals and limits")


FEW = ("runs --seeds 40 --quick", "runs --seeds 12 --only recording ACER evaluating", "files --seeds 72",
       "lines --seeds 105", "page --seeds 8")  # fmt: skip
THOUSANDS = ("runs --seeds 2000 --quick", "runs --seeds 240", "runs --seeds 240 --faults SIGKILL",
             "files --seeds 2000", "lines --seeds 3000", "page --seeds 60")  # fmt: skip
HOURS = [pytest.mark.exhaustive, pytest.mark.timeout(14400)]
NO_DRIVER = pytest.mark.skipif(shutil.which("chromedriver") is None, reason="needs chromedriver on the path")


def abuse(words: str) -> str:
    """What a command line prints on stdout; AssertionError unless it survives every seed."""
    command = [sys.executable, "-m", "tests.abuse", *words.split()]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.mark.parametrize(
    "words",
    [
        *(pytest.param(words, marks=pytest.mark.slow) for words in FEW),
        *(pytest.param(words, marks=HOURS) for words in THOUSANDS),
        pytest.param("browser --seeds 100", marks=[*HOURS, NO_DRIVER, pytest.mark.needs(module="selenium")]),
    ],
)
def test_every_seed_is_survived(words: str) -> None:
    abuse(words)


@pytest.mark.slow
def test_a_seed_repeats_the_same_fault() -> None:
    words = "runs --seeds 2 --first 17 --only splitting merging --faults kill full"  # at a call, not a moment
    counts = [[line for line in abuse(words).splitlines() if line.startswith("  ")] for _ in range(2)]
    assert counts[0] == counts[1] != []
