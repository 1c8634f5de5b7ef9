"""Compiled kernels on disk, in the user's cache folder.

Numba would keep them in `__pycache__` next to the source, where they outlive the package (pip does not remove what it
did not install), and would notice a change in a kernel's own file only. Here the folder's name has a digest of all
sources of the kernel's group, because kernels take functions and constants from each other's files, and of the versions
that compiled them. Checkouts with different sources thus have a folder each; one that has not been used for a month is
removed.

The folder is `qwop` in the user's cache folder ($XDG_CACHE_HOME or ~/.cache on Linux), or in $NUMBA_CACHE_DIR if set.
Every file is written whole, so processes that compile at the same time do not disturb each other. If nothing can be
written, each process compiles for itself.
"""

import hashlib
import os
import pickle
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import numba
from numba.core import caching
from platformdirs import user_cache_path

UNUSED_DAYS = 30

_BROKEN = (OSError, EOFError, ValueError, KeyError, AttributeError, ImportError, pickle.UnpicklingError)
"""Exceptions from reading a damaged file of the cache."""


@dataclass(frozen=True)
class KernelGroup:
    """Kernels that are compiled from the same sources, all Python files in these folders. notice: said on stderr when a
    process compiles the first of them."""

    name: str
    sources: tuple[Path, ...]
    notice: str = ""

    def stamp(self) -> str:
        """Return a digest of the sources and of the Python and numba that compile them."""
        return _stamp(self.sources)

    def folder(self) -> Path:
        """Return the folder of these sources' kernels, which may not exist yet."""
        return _base() / f"{self.name}-{self.stamp()[:16]}"

    def make_folder(self) -> None:
        """Make the folder, and remove those of other sources of the group that no process has used for long."""
        if not self.folder().exists():
            self.folder().mkdir(parents=True, exist_ok=True)
            for other in _base().glob(f"{self.name}-*"):
                with suppress(OSError):  # another process may be removing it
                    if other != self.folder() and other.stat().st_mtime < time.time() - UNUSED_DAYS * 86400:
                        shutil.rmtree(other, ignore_errors=True)


def on_disk(group: KernelGroup, **options: Any) -> Callable[[Any], Any]:
    """A decorator of kernels that Python calls: numba.njit with these options, kept on disk."""

    def decorated(kernel: Any) -> Any:
        dispatcher: Any = numba.njit(**options)(kernel)
        dispatcher._cache = KernelCache(kernel, group)
        return dispatcher

    return decorated


@cache
def _stamp(sources: tuple[Path, ...]) -> str:
    digest = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    for folder in sources:
        for file in sorted(folder.rglob("*.py")):
            digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _base() -> Path:
    configured = os.environ.get("NUMBA_CACHE_DIR")
    return Path(configured) / "qwop" if configured else user_cache_path("qwop", appauthor=False)


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    """Tells numba where a kernel of a group is kept and what it was compiled from."""

    group: KernelGroup

    def __init__(self, kernel: Callable[..., Any], file: str) -> None:
        self._py_file = file  # numba names it in its warnings
        self._line = kernel.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(self.group.folder())

    def get_source_stamp(self) -> str:
        return self.group.stamp()

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        self.group.make_folder()

    @classmethod
    def from_function(cls, kernel: Callable[..., Any], file: str) -> "_Locator":
        return cls(kernel, file)


@cache
def _implementation_of(group: KernelGroup) -> Any:
    """Numba's way to keep a compiled function, with the group's locator: numba makes both from classes."""
    locator = type("_GroupLocator", (_Locator,), {"group": group})
    return type("_GroupCacheImpl", (caching.CompileResultCacheImpl,), {"_locator_classes": [locator]})


class _KernelFiles(caching.IndexDataCacheFile):  # type: ignore[misc]
    """The index of a kernel's signatures and a file for each.

    Numba counts the files. Two processes that compile different signatures at the same time could then give theirs the
    same number, and one load the other's; with names of their own, the worst is that one signature is compiled again.
    """

    def _data_name(self, number: int) -> str:
        return f"{Path(self._index_name).stem}.{uuid4().hex}.nbc"


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache of one kernel. It never fails: a file that cannot be used is compiled again."""

    def __init__(self, kernel: Callable[..., Any], group: KernelGroup) -> None:
        self._group = group
        self._impl_class = _implementation_of(group)
        super().__init__(kernel)
        self._cache_file = _KernelFiles(str(group.folder()), self._impl.filename_base, group.stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except _BROKEN:
            found = None
            with suppress(OSError):
                self.flush()
        if found is None:
            _report_compiling(self._group)
        else:
            _mark_as_used(self._group)
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


@cache
def _mark_as_used(group: KernelGroup) -> None:
    with suppress(OSError):  # a read-only folder is somebody else's to look after
        os.utime(group.folder())


@cache
def _report_compiling(group: KernelGroup) -> None:
    if group.notice:
        print(group.notice, file=sys.stderr)


@cache
def _report_unwritable(reason: str) -> None:
    print(
        f"compiled code cannot be kept in {_base()} ({reason}), so every process compiles it again; set "
        "NUMBA_CACHE_DIR to a folder that can be written",
        file=sys.stderr,
    )
