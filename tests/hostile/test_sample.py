"""A sample of the hostile files; `python -m tests.hostile 2000` tries them all."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory and /proc are Linux's")
def test_hostile_files_are_read_or_refused_in_a_line() -> None:
    command = [sys.executable, "-m", "tests.hostile", "35", "policy", "keys", "dataset.json", "samples"]
    command += ["recording", "policy of CartPole", "import of data/metadata.json"]
    command += ["checkpoint of a population", "journal of a study", "policy of two-timescale-actor-critic"]
    command += [f"import of {name}" for name in ("arrays.npz", "rows.csv", "rows.parquet", "robot")]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert done.stdout.count("\n") == 15
