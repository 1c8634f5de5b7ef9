"""A plain `pytest` says what it leaves out."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_last_lines_say_how_many_tests_were_left_out_and_how_to_run_them() -> None:
    pictures = "benchmarks/test_pictures.py"  # slow, both of them
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", pictures]
    # From the folder of tests: in the project's own, `datasets` would hide the package of that name.
    said = subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True).stdout
    assert "Left out: 2 slow tests (whole commands, and learning); pytest -m slow runs them." in said
