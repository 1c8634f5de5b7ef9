"""A sample of `python -m tests.abuse`; more of it with `-m exhaustive`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts on Linux's signals and limits")


def abuse(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "tests.abuse", *words], cwd=ROOT, capture_output=True, text=True)


FEW = ("runs --seeds 40 --quick", "runs --seeds 12 --only recording ACER evaluating", "files --seeds 72",
       "lines --seeds 105", "page --seeds 8")  # fmt: skip
THOUSANDS = ("runs --seeds 2000 --quick", "runs --seeds 240", "runs --seeds 240 --faults SIGKILL",
             "files --seeds 2000", "lines --seeds 3000", "page --seeds 60")  # fmt: skip
HOURS = [pytest.mark.exhaustive, pytest.mark.timeout(14400)]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, marks=marks)
        for kind, marks in ((FEW, pytest.mark.slow), (THOUSANDS, HOURS))
        for words in kind
    ],
)
def test_every_seed_is_survived(words: str) -> None:
    """Fails with the output of the command line unless it survives every seed."""
    done = abuse(*words.split())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.exhaustive
@pytest.mark.timeout(14400)
@pytest.mark.needs(module="selenium")
def test_kills_of_a_real_browser_and_its_recorder_lose_nothing() -> None:
    if shutil.which("chromedriver") is None:
        pytest.skip("needs Chromium and chromedriver on the path")
    done = abuse("browser", "--seeds", "100")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_seed_repeats_the_same_fault() -> None:
    words = "runs --seeds 2 --first 17 --only splitting merging --faults kill full"  # at a call, not a moment
    lines = [abuse(*words.split()).stdout for _ in range(2)]
    counts = [[line for line in one.splitlines() if line.startswith("  ")] for one in lines]
    assert counts[0] == counts[1] != []
