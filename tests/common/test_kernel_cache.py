"""Compiled kernels on disk: kept for the next process, outside the package, and never a reason to fail."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

MODULE = """
from pathlib import Path
import numpy as np
from qwop.common.kernel_cache import KernelGroup, on_disk

@on_disk(KernelGroup("tried", (Path(__file__).parent,), "compiling"))
def double(values):
    for place in range(len(values)):
        values[place] *= 2

values = np.arange(3.0)
double(values)
print(values.tolist())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "module" / "kernels.py"
    path.parent.mkdir()
    path.write_text(MODULE)
    return path


def start(script: Path, **environment: str) -> "subprocess.Popen[str]":
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, script], env={**inherited, **environment}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def said_by(process: "subprocess.Popen[str]") -> str:
    """Check the result and return what the process wrote to stderr."""
    said, complaints = process.communicate(timeout=120)
    assert (process.returncode, said) == (0, "[0.0, 2.0, 4.0]\n"), complaints
    return complaints


def test_a_kernel_is_compiled_once_and_kept_in_the_users_cache_folder(script: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert "compiling" in said_by(start(script, XDG_CACHE_HOME=str(cache)))
    assert said_by(start(script, XDG_CACHE_HOME=str(cache))) == ""
    assert {path.suffix for path in cache.glob("qwop/tried-*/*")} == {".nbi", ".nbc"}
    assert not list(script.parent.rglob("*.nb*"))


def test_numbas_own_setting_is_honoured(script: Path, tmp_path: Path) -> None:
    said_by(start(script, NUMBA_CACHE_DIR=str(tmp_path / "numba"), XDG_CACHE_HOME=str(tmp_path / "cache")))
    assert list(tmp_path.glob("numba/qwop/tried-*/*.nbc"))
    assert not (tmp_path / "cache").exists()


def test_where_nothing_can_be_written_one_line_says_so_and_the_kernel_runs(script: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = said_by(start(script, XDG_CACHE_HOME=str(tmp_path / "file"))).splitlines()
    assert len(said) == 2
    assert "cannot be kept in" in said[1]
    assert "NUMBA_CACHE_DIR" in said[1]


def test_processes_may_compile_at_the_same_time(script: Path, tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    for process in [start(script, XDG_CACHE_HOME=cache) for _ in range(3)]:
        said_by(process)
    assert said_by(start(script, XDG_CACHE_HOME=cache)) == ""
    assert not list(tmp_path.glob("cache/qwop/tried-*/*.tmp.*"))


@pytest.mark.parametrize(("suffix", "left"), [("nbi", 0), ("nbc", 40)])
def test_a_damaged_file_is_compiled_again(script: Path, tmp_path: Path, suffix: str, left: int) -> None:
    cache = str(tmp_path / "cache")
    said_by(start(script, XDG_CACHE_HOME=cache))
    (file,) = tmp_path.glob(f"cache/qwop/tried-*/*.{suffix}")
    file.write_bytes(file.read_bytes()[:left])
    assert "compiling" in said_by(start(script, XDG_CACHE_HOME=cache))
    assert said_by(start(script, XDG_CACHE_HOME=cache)) == ""


def test_kernels_of_other_sources_are_removed_once_nobody_uses_them(script: Path, tmp_path: Path) -> None:
    base = tmp_path / "cache" / "qwop"
    for name, days in (("tried-old", 40), ("tried-recent", 3), ("notes", 400)):
        (base / name).mkdir(parents=True)
        os.utime(base / name, (time.time() - days * 86400,) * 2)
    said_by(start(script, XDG_CACHE_HOME=str(tmp_path / "cache")))
    assert not (base / "tried-old").exists()
    assert (base / "tried-recent").exists()
    assert (base / "notes").exists()


def test_changed_sources_of_a_group_are_compiled_again(script: Path, tmp_path: Path) -> None:
    cache, constants = str(tmp_path / "cache"), script.with_name("constants.py")
    constants.write_text("FACTOR = 2")
    said_by(start(script, XDG_CACHE_HOME=cache))
    constants.write_text("FACTOR = 3")
    assert "compiling" in said_by(start(script, XDG_CACHE_HOME=cache))
    assert said_by(start(script, XDG_CACHE_HOME=cache)) == ""
    assert len(list(tmp_path.glob("cache/qwop/tried-*"))) == 2


LEARNERS = """
import numpy as np
from qwop.finetune.replay import sum_tree
tree = sum_tree.SumTree(4)
tree.set(np.arange(3), np.array([0.0, 2.0, 4.0]))
print(tree.get(np.arange(3)).tolist())
print(len(sum_tree._set.stats.cache_hits), file=__import__("sys").stderr)
"""


def test_the_learners_kernels_are_kept_without_a_word(script: Path, tmp_path: Path) -> None:
    script.write_text(LEARNERS)
    assert said_by(start(script, XDG_CACHE_HOME=str(tmp_path / "cache"))) == "0\n"
    assert said_by(start(script, XDG_CACHE_HOME=str(tmp_path / "cache"))) == "1\n"
    assert list(tmp_path.glob("cache/qwop/learners-*/*.nbc"))
