"""Kernels that other kernels call: compiled by themselves, in this process if the other one fails."""

import os
import subprocess
import sys
from pathlib import Path

SHARED = """
import subprocess
import sys
import numpy as np
from numba.core import types
from qwop.envs.engine import kernel_cache
from qwop.envs.engine.compiled import compiled, shared

@shared
def add_one(values):
    for place in range(len(values)):
        values[place] += 1

@compiled
def add_two(values):
    add_one(values)
    add_one(values)

# Another process that should compile it, and fails.
kernel_cache.being_compiled[(types.float64[::1],)] = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])
values = np.array([-2.0, 0.0, 2.0])
add_two(values)
print(values.tolist())
"""


def test_a_shared_kernel_is_compiled_by_itself_and_again_if_its_file_is_lost(tmp_path: Path) -> None:
    script, cache = tmp_path / "kernels.py", tmp_path / "cache"
    script.write_text(SHARED)

    def complaints() -> str:
        inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        environment = {**inherited, "XDG_CACHE_HOME": str(cache)}
        ended = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=120)
        assert (ended.returncode, ended.stdout) == (0, "[0.0, 2.0, 4.0]\n"), ended.stderr
        return ended.stderr

    assert "compiling" in complaints()
    assert complaints() == ""
    for path in cache.glob("qwop/engine-*/*add_one*"):
        path.unlink()
    assert "compiling" in complaints()
    assert complaints() == ""
