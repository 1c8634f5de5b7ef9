"""A sample of `python -m tests.conf.wrong_lines`; all of it with `-m exhaustive`."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")


def refused(count: int, *more: str) -> None:
    """Try so many wrong command lines."""
    command = [sys.executable, "-m", "tests.conf.wrong_lines", str(count), *more]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} of {count} wrong lines refused" in done.stdout


def test_a_wrong_line_of_every_command_is_refused_in_a_line() -> None:
    refused(38, "--seed", "1")


@pytest.mark.slow
def test_wrong_lines_end_in_a_process_as_they_do_in_a_fork() -> None:
    refused(38, "--seed", "2", "--processes", "10")


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)
def test_three_thousand_wrong_command_lines_are_refused_in_a_line() -> None:
    refused(3000, "--jobs", "2")
