"""The libraries play the same bits, those of other systems too, and what plays where none of them can."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.envs.engine import native
from qwop.envs.engine.interface import KERNELS
from qwop.envs.engine.native import WebAssembly

from .emulated import ArmLibrary
from .everything import everything

ANY = native.LIBRARIES / "any.wasm"

STEP = """
import sys
import numpy as np
from qwop.envs.qwop.env import QWOPEnv
env = QWOPEnv()
env.reset(seed=0)
seen = [env.step(int(action))[0] for action in np.random.default_rng(0).integers(0, 11, 12)]
print(np.concatenate(seen).tobytes().hex())
print([name for name in ("numba", "llvmlite", "torch") if name in sys.modules])
"""


def require_same_bits(library: native.Engine, frames: int) -> list[str]:
    """Names of what the kernels make; AssertionError unless a library makes the same as that of this system."""
    here, there = everything(native.engine(), frames), everything(library, frames)
    assert [name for name, made in here.items() if there[name] != made] == []
    return [*here]


@pytest.fixture(autouse=True)
def anew() -> None:
    native.engine.cache_clear()
    yield
    native.engine.cache_clear()


@pytest.mark.skipif(
    (sys.platform, platform.machine().lower()) not in native.FILES, reason="this system has no library of its own"
)
def test_this_systems_library_plays() -> None:
    assert isinstance(native.engine(), native.SharedLibrary)


def test_webassembly_plays_every_kernel_to_the_same_bits() -> None:
    names = require_same_bits(WebAssembly(ANY, ""), 300)
    assert {name.split()[0] for name in names} == set(KERNELS)


@pytest.mark.parametrize("reason", ["no AVX2", "other bits", "asked for"])
def test_where_no_library_plays_webassembly_does_and_says_so(
    reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(file: Path) -> native.SharedLibrary:
        raise OSError("this processor lacks AVX2 and FMA")

    if reason == "no AVX2":
        monkeypatch.setattr(native, "SharedLibrary", refuse)
    elif reason == "other bits":
        monkeypatch.setattr(native, "CHECKED", "0" * 64)
    else:
        monkeypatch.setenv("QWOP_ENGINE", "any-cpu")
    engine = native.engine()
    assert isinstance(engine, WebAssembly)
    said = capsys.readouterr().err
    wanted = {"no AVX2": "lacks AVX2 and FMA; games are", "other bits": "plays other bits", "asked for": ""}[reason]
    assert wanted in said
    assert said.count("\n") == (reason != "asked for")


def test_eight_lanes_that_play_other_bits_leave_four() -> None:
    class Eight:
        width = 8

    checked = []
    library = Eight()
    assert native._fit(library, "x.so", lambda one: checked.append(one.width) or one.width == 4) is library
    assert checked == [8, 4]


def test_without_wasmtime_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    with pytest.raises(BadInput, match=r"lacks AVX2, and wasmtime is not installed: pip install 'qwop\[any-cpu\]'"):
        WebAssembly(ANY, "this processor lacks AVX2")


def test_an_environment_needs_neither_numba_nor_a_compiler(tmp_path: Path) -> None:
    said = []
    for engine in ("", "any-cpu"):
        environment = {"PATH": "/nowhere", "HOME": str(tmp_path), "QWOP_ENGINE": engine}
        done = subprocess.run(
            [sys.executable, "-c", STEP], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        )
        said.append(done.stdout)
    assert said[0] == said[1]
    assert said[0].endswith("\n[]\n")


@pytest.mark.parametrize(
    "given", [np.zeros(3, np.float32), np.zeros((3, 1)), np.zeros(6)[::2], np.zeros(3, ">f8")], ids=str
)
def test_an_array_of_another_type_or_layout_is_refused(given: np.ndarray) -> None:
    with pytest.raises(TypeError, match="bent_knees: out is"):
        native.call("bent_knees", np.zeros((3, 84)), given)


def test_a_bound_call_plays_in_the_arrays_that_it_was_given() -> None:
    nodes, values = np.zeros(8), np.array([1.0, 2.0])
    call = native.bind("set_leaves", nodes, 4, np.array([0, 3]), values)
    call()
    values[:] = 5.0
    call()
    assert nodes[1] == 10.0


def test_tanh_is_within_two_units_in_the_last_place() -> None:
    x = np.concatenate([np.linspace(-10, 10, 200_001), np.logspace(-38, 1, 20_001), [0.0, np.inf, -np.inf]])
    x = x.astype(np.float32)
    out = np.empty_like(x)
    native.call("tanh", x, out)
    exact = np.tanh(x.astype(np.float64))
    units = np.abs(out - exact) / np.maximum(np.spacing(np.abs(exact).astype(np.float32)), np.float32(1e-45))
    assert units.max() <= 0.6
    assert np.array_equal(np.sign(out), np.sign(x))
    native.call("tanh", np.array([np.nan], np.float32), out[:1])
    assert np.isnan(out[0])


def test_arms_library_plays_the_same_bits(tmp_path: Path) -> None:
    if shutil.which("qemu-aarch64") is None:
        if os.environ.get("CI") and (sys.platform, platform.machine()) == ("linux", "x86_64"):
            pytest.fail("qemu-user is not installed (Debian: apt install qemu-user)")
        pytest.skip("qemu-user is not installed (Debian: apt install qemu-user)")
    arm = ArmLibrary(native.LIBRARIES / "aarch64-linux.so", tmp_path)
    assert native.plays_exactly(arm)
    require_same_bits(arm, 60)


def test_macos_finds_a_signature() -> None:
    file = (native.LIBRARIES / "arm64-macos.dylib").read_bytes()
    assert b"\xfa\xde\x0c\xc0" in file  # the superblob of a code signature
    assert b"/usr/lib/libSystem.B.dylib\0" in file
