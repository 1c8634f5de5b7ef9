"""The engine's compiled kernels on disk, in the user's cache folder.

Numba would keep them in `__pycache__` next to the source, where they outlive the package (pip does not remove what it
did not install), and would notice a change in a kernel's own file only. Here the folder's name has a digest of all of
the engine's sources, because kernels take functions and constants from each other's files, and of the versions that
compiled them. Checkouts with different sources thus have a folder each; one that has not been used for a month is
removed.

The folder is `qwop` in the user's cache folder ($XDG_CACHE_HOME or ~/.cache on Linux), or in $NUMBA_CACHE_DIR if set.
Every file is written whole, so processes that compile at the same time do not disturb each other. Where nothing can be
written, each process compiles for itself.
"""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import numba
from numba.core import caching
from platformdirs import user_cache_path

from . import linking

UNUSED_DAYS = 30

LONGEST_COMPILING = 300
"""Seconds to wait for another process that compiles a kernel."""

_BROKEN = (OSError, EOFError, ValueError, KeyError, AttributeError, ImportError, pickle.UnpicklingError)
"""Exceptions from reading a damaged file of the cache."""


@cache
def source_stamp() -> str:
    """Return a digest of the engine's sources and of the Python and numba that compile them."""
    digest = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def cache_folder() -> Path:
    """Return the folder of these sources' kernels, which may not exist yet."""
    configured = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(configured) / "qwop" if configured else user_cache_path("qwop", appauthor=False)
    return base / f"engine-{source_stamp()[:16]}"


def remove_unused(base: Path, days: float = UNUSED_DAYS) -> None:
    """Remove the kernels of other sources in `base` that no process has loaded for this many days."""
    for folder in base.glob("engine-*"):
        with suppress(OSError):  # another process may be removing it
            if folder != cache_folder() and folder.stat().st_mtime < time.time() - days * 86400:
                shutil.rmtree(folder, ignore_errors=True)


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    """Tells numba where a kernel is kept and what it was compiled from."""

    def __init__(self, kernel: Callable[..., Any], file: str) -> None:
        self._py_file = file  # numba names it in its warnings
        self._line = kernel.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return source_stamp()

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        folder = cache_folder()
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            remove_unused(folder.parent)

    @classmethod
    def from_function(cls, kernel: Callable[..., Any], file: str) -> "_Locator":
        return cls(kernel, file)


class _KernelCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_Locator]  # noqa: RUF012  (numba's own name and form)


class _KernelFiles(caching.IndexDataCacheFile):  # type: ignore[misc]
    """The index of a kernel's signatures and a file for each.

    Numba counts the files. Two processes that compile different signatures at the same time could then give theirs the
    same number, and one load the other's; with names of their own, the worst is that one signature is compiled again.
    """

    def _data_name(self, number: int) -> str:
        return f"{Path(self._index_name).stem}.{uuid4().hex}.nbc"


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache of one kernel. It never fails: a file that cannot be used is compiled again."""

    _impl_class = _KernelCacheImpl

    def __init__(self, kernel: Callable[..., Any]) -> None:
        super().__init__(kernel)
        self._cache_file = _KernelFiles(str(cache_folder()), self._impl.filename_base, source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except _BROKEN:
            found = None
            with suppress(OSError):
                self.flush()
        if found is None:
            _report_compiling()
        else:
            _mark_as_used()
        return found

    def holds(self, sig: Any, target_context: Any) -> bool:
        """True if the kernel is on the disk for this signature."""
        try:
            return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()
        except _BROKEN:
            return False

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _report_unwritable(error.strerror or str(error))


being_compiled: dict[tuple[Any, ...], "subprocess.Popen[bytes]"] = {}
"""Signatures that other processes are compiling for this one; see `ahead`."""


def _wait_for(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(LONGEST_COMPILING)
    except subprocess.TimeoutExpired:
        process.kill()


class SharedKernelCache(KernelCache):
    """Cache of a kernel that other kernels call by its symbol."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if sig in being_compiled:
            _wait_for(being_compiled.pop(sig))
        found = None if linking.whole else super().load_overload(sig, target_context)
        if found is not None:
            linking.define(found.library, found.fndesc)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        if not linking.whole:
            super().save_overload(sig, data)


@cache
def _mark_as_used() -> None:
    with suppress(OSError):  # a read-only folder is somebody else's to look after
        os.utime(cache_folder())


@cache
def _report_compiling() -> None:
    print(
        "compiling the game's engine (once after installing or changing it; ten to twenty seconds) …", file=sys.stderr
    )


@cache
def _report_unwritable(reason: str) -> None:
    print(
        f"the compiled engine cannot be kept in {cache_folder()} ({reason}), so every process compiles it again; "
        "set NUMBA_CACHE_DIR to a folder that can be written",
        file=sys.stderr,
    )
