"""The engine as WebAssembly, for processors and systems without a library: the same bits, one game at a time."""

import atexit
import ctypes
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from .native import Call

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
