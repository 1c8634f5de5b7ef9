"""Small inputs that the project once got wrong; each says its kind, what is right, and what was seen.

A case is a program that exits with 0 only where the project is right. `pytest tests/cases -m slow` runs them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CASES = sorted(path for path in HERE.iterdir() if path.name.split("-")[0] in ("b", "b4", "r", "r4"))
RUNS = {".py": sys.executable, ".mjs": "node", ".sh": "bash"}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_a_case_is_right(case: Path) -> None:
    text, root, commands = case.read_text(), HERE.parents[1], Path(sys.executable).parent
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    for name in {RUNS[case.suffix], *(name for name in ("node", "uv") if name in text)}:
        if shutil.which(name, path=path) is None:
            pytest.skip(f"needs {name}")
    variables = {**os.environ, "QWOP_BIN": str(commands), "QWOP_ROOT": str(root), "OMP_NUM_THREADS": "1", "PATH": path}
    run = subprocess.run([RUNS[case.suffix], case], cwd=root, env=variables, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
