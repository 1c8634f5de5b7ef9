"""The engine's machine code: a shared library of `lib`, or WebAssembly where none of them plays."""

import atexit
import ctypes
import hashlib
import os
import platform
import struct
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from .interface import KERNELS, symbol
from .interface import MANY as MANY

LIBRARIES = Path(__file__).parent / "lib"

FILES = {
    ("linux", "x86_64"): "x86_64-linux.so",
    ("linux", "aarch64"): "aarch64-linux.so",
    ("darwin", "arm64"): "arm64-macos.dylib",
    ("win32", "amd64"): "x86_64-windows.dll",
}
"""The library of a system and processor, as `sys.platform` and `platform.machine` name them."""

ANY_CPU = "QWOP_ENGINE"
"""Set to `any-cpu`, this variable of the environment takes WebAssembly on every processor."""

CHECKED_FRAMES = 300
CHECKED = "45d481e7b735db2ab904a58705fa70e7fbadd79df13067720f35d946446e7f4b"
"""SHA-256 of the first frames of a game with changing keys, float64 [301, 93], on every processor."""


class Call(partial[None]):
    """A kernel with its arguments; calling it plays. table: its numbers can be changed in place."""

    table: Any
    arrays: tuple[NDArray[Any], ...]


class Engine(Protocol):
    """Something that has the kernels. width: games side by side."""

    width: int

    def __hash__(self) -> int: ...

    def bind(self, function: str, table: Any, arrays: tuple[NDArray[Any], ...]) -> Call:
        """Return the function's call with a table in which the addresses of the arrays may still be filled in."""


class SharedLibrary:
    """A library of `lib`. Raises OSError if it cannot be loaded, or plays nothing on this processor."""

    def __init__(self, file: Path) -> None:
        self._library = ctypes.CDLL(str(file))
        self.width = int(self._library.lanes())
        if not self.width:
            raise OSError("this processor lacks AVX2 and FMA")

    def bind(self, function: str, table: Any, arrays: tuple[NDArray[Any], ...]) -> Call:
        call = Call(getattr(self._library, function), table)
        call.table, call.arrays = table, arrays
        return call


@cache
def engine() -> Engine:
    """The engine of this process, loaded when it is first needed. BadInput if nothing plays here."""
    reason = f"{ANY_CPU}={os.environ.get(ANY_CPU)}"
    if os.environ.get(ANY_CPU) != "any-cpu":
        try:
            return _native()
        except OSError as error:
            reason = str(error)
            print(f"engine: {reason}; games are played by WebAssembly, several times more slowly", file=sys.stderr)
    return WebAssembly(LIBRARIES / "any.wasm", reason)


def _native() -> SharedLibrary:
    machine = platform.machine().lower()
    file = FILES.get((sys.platform, machine))
    if file is None:
        raise OSError(f"no library for {platform.system()} on {machine}")
    return _fit(SharedLibrary(LIBRARIES / file), file, plays_exactly)


def _fit(library: SharedLibrary, file: str, exact: Callable[[Engine], bool]) -> SharedLibrary:
    """The library with as many lanes as play exactly; OSError if none do."""
    while not exact(library):
        if library.width == 4:
            raise OSError(f"{file} plays other bits on this processor")
        library.width = 4  # instead of eight
    return library


def plays_exactly(library: Engine) -> bool:
    """True if a game comes out as everywhere, alone and in all lanes."""
    from .page import loaded, play_together

    keys = (np.arange(CHECKED_FRAMES) // 8 * 11 % 16).astype(np.uint8)
    digests = set()
    for width in (1, library.width):
        reals, integers = loaded("current", library)
        rows = np.repeat(reals, width, axis=0), np.repeat(integers, width, axis=0)
        games = play_together(*rows, [keys] * width, width, library=library)
        digests |= {hashlib.sha256(np.ascontiguousarray(one, "<f8").tobytes()).hexdigest() for one in games}
    return digests == {CHECKED}


def bind(
    name: str, *arguments: Any, width: int = 1, trigonometry: str = "current", library: Engine | None = None
) -> Call:
    """Return a call of a kernel with these arguments, arrays and numbers in the order of `interface.KERNELS`.

    The arrays are used in place. width: games side by side; MANY: as many as the library has lanes. TypeError for an
    array of another type or layout.
    """
    library = library or engine()
    kernel = KERNELS[name]
    words: list[int] = []
    arrays = []
    for parameter, value in zip(kernel.parameters, arguments, strict=True):
        if parameter.dimensions:
            if value.dtype != parameter.dtype or value.ndim != parameter.dimensions or not value.flags.c_contiguous:
                raise TypeError(f"{name}: {parameter.name} is {value.dtype} {value.shape}, expected {parameter}")
            words += [value.ctypes.data, *value.shape]
            arrays.append(value)
        elif parameter.dtype == "f8":
            words += struct.unpack("q", struct.pack("d", value))
        else:
            words.append(int(value))
    table = (ctypes.c_int64 * len(words))(*words)
    return library.bind(symbol(name, trigonometry, width or library.width), table, tuple(arrays))


def call(name: str, *arguments: Any, **how: Any) -> None:
    """Call a kernel; see `bind`."""
    bind(name, *arguments, **how)()


_PAGE = 65536


class WebAssembly:
    """The kernels in a WebAssembly module, played by wasmtime. Raises BadInput without it, naming the reason."""

    width = 1

    def __init__(self, file: Path, reason: str) -> None:
        try:
            import wasmtime
        except ModuleNotFoundError:
            raise BadInput(f"engine: {reason}, and wasmtime is not installed: pip install 'qwop[any-cpu]'") from None
        self._store = wasmtime.Store()
        module = wasmtime.Module.from_file(self._store.engine, str(file))
        self._exports = cast(Any, wasmtime.Instance(self._store, module, []).exports(self._store))
        self._base = int(self._exports["__heap_base"].value(self._store)) + 15 & ~15
        self._memory = self._exports["memory"]
        self._lock = Lock()
        # wasmtime's objects complain if they outlive the interpreter's modules.
        atexit.register(self._close)

    def _close(self) -> None:
        del self._exports, self._memory, self._store

    def bind(self, function: str, table: Any, arrays: tuple[NDArray[Any], ...]) -> Call:
        addresses = {one.ctypes.data for one in arrays}
        places = [place for place, word in enumerate(table) if word in addresses]
        call = Call(self._play, function, table, places, arrays)
        call.table, call.arrays = table, arrays
        return call

    def _play(self, function: str, table: Any, places: list[int], arrays: tuple[NDArray[Any], ...]) -> None:
        """Copy the arrays into the module's memory, call the function, and copy them back."""
        words = np.array(table, dtype=np.int64)
        with self._lock:
            at = [self._base + words.nbytes + 15 & ~15]
            for one in arrays:
                at.append(at[-1] + one.nbytes + 15 & ~15)
            words[places] = at[:-1]
            missing = at[-1] - self._memory.data_len(self._store)
            if missing > 0:
                self._memory.grow(self._store, -(-missing // _PAGE))
            start = ctypes.addressof(self._memory.data_ptr(self._store).contents)
            ctypes.memmove(start + self._base, words.ctypes.data, words.nbytes)
            for place, one in zip(at, arrays, strict=False):
                ctypes.memmove(start + place, one.ctypes.data, one.nbytes)
            self._exports[function](self._store, self._base)
            for place, one in zip(at, arrays, strict=False):
                if one.flags.writeable:
                    ctypes.memmove(one.ctypes.data, start + place, one.nbytes)
