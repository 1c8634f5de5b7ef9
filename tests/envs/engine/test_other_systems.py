"""The libraries of other systems play the same bits, as far as this machine can tell."""

import os
import platform
import shutil
import sys
from pathlib import Path

import pytest
from qwop.envs.engine import native

from .emulated import ArmLibrary, WindowsLibrary, elf_image, mach_image, windows_image
from .everything import everything

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="for Linux on x86-64, which plays the others' code",
)


@pytest.mark.parametrize(("file", "image_of"), [("aarch64-linux.so", elf_image), ("arm64-macos.dylib", mach_image)])
def test_arms_libraries_play_the_same_bits(file: str, image_of, tmp_path: Path) -> None:
    if not (shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")):
        if os.environ.get("CI"):
            pytest.fail("qemu-user is not installed (Debian: apt install qemu-user)")
        pytest.skip("qemu-user is not installed (Debian: apt install qemu-user)")
    arm = ArmLibrary(image_of((native.LIBRARIES / file).read_bytes()), tmp_path)
    assert native.plays_exactly(arm)
    here, there = everything(native.engine(), 60), everything(arm, 60)
    assert [name for name, made in here.items() if there[name] != made] == []


def test_windows_library_plays_the_same_bits() -> None:
    library = WindowsLibrary(windows_image((native.LIBRARIES / "x86_64-windows.dll").read_bytes()))
    assert library.width == native.SharedLibrary(native.LIBRARIES / "x86_64-linux.so").width
    assert native.plays_exactly(library)
    here, there = everything(native.engine(), 300), everything(library, 300)
    assert [name for name, made in here.items() if there[name] != made] == []


def test_macos_finds_a_signature() -> None:
    file = (native.LIBRARIES / "arm64-macos.dylib").read_bytes()
    assert b"\xfa\xde\x0c\xc0" in file  # the superblob of a code signature
    assert b"/usr/lib/libSystem.B.dylib\0" in file
