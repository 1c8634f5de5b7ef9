"""A sample of `python -m tests.conf.wrong_lines`; all of it with `-m exhaustive`."""

import subprocess
import sys
from pathlib import Path

import pytest


def refused(count: int) -> None:
    """Try so many wrong command lines."""
    command = [sys.executable, "-m", "tests.conf.wrong_lines", str(count), "--jobs", "2"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} of {count} wrong lines refused" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")
def test_wrong_command_lines_are_refused_in_a_line() -> None:
    refused(64)


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_three_thousand_wrong_command_lines_are_refused_in_a_line() -> None:
    refused(3000)
