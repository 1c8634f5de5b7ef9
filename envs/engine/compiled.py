"""The decorator of every kernel: compiled by numba, without the GIL, cached on disk.

Numba stamps a cached function with the date of its own file only, and would go on using it after a change in a function
or a constant that it takes from another file. The kernels of this folder call each other, so the stamp here is a digest
of all of them.
"""

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import caching

Function = TypeVar("Function", bound=Callable[..., Any])

# Without numba's runtime nothing can be allocated, and views of arrays are not counted (which took half the time).
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_INTERNAL: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True}


@cache
def _digest_of_kernels() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


class _Stamped:
    """A cache locator whose source stamp covers all kernels."""

    def get_source_stamp(self) -> str:
        return _digest_of_kernels()


class _CacheBesideSource(_Stamped, caching.InTreeCacheLocator):  # type: ignore[misc]
    pass


class _CacheOfUser(_Stamped, caching.UserWideCacheLocator):  # type: ignore[misc]
    pass


class _CacheAsConfigured(_Stamped, caching.UserProvidedCacheLocator):  # type: ignore[misc]
    pass


class _KernelCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_CacheAsConfigured, _CacheBesideSource, _CacheOfUser]  # noqa: RUF012  (numba's own name and form)


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _KernelCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None:
            _say_that_it_compiles()
        return found


@cache
def _say_that_it_compiles() -> None:
    print("compiling the game's engine; once after an installation or a change, about half a minute …", file=sys.stderr)


def compiled(function: Function) -> Function:
    """A kernel that Python calls: compiled on first use, without the GIL, and kept on disk.

    Never with `fastmath`: every operation rounds as written.
    """
    dispatcher: Any = numba.njit(**_OPTIONS)(function)
    dispatcher._cache = _KernelCache(dispatcher.py_func)
    return cast(Function, dispatcher)


def internal(function: Function) -> Function:
    """A kernel that only kernels call; it is kept on disk as part of them."""
    return cast(Function, numba.njit(**_INTERNAL)(function))


def inlined(function: Function) -> Function:
    """A small kernel that only kernels call, and whose calls are replaced by its machine code."""
    return cast(Function, numba.njit(**_INTERNAL, forceinline=True)(function))


def merged(function: Function) -> Function:
    """A kernel that becomes part of the kernel that calls it before anything is compiled.

    Every kernel is compiled anew with each that calls it, so a tower of calls takes long to compile; this is for the
    floors of the tower that do little themselves.
    """
    return cast(Function, numba.njit(**_INTERNAL, inline="always")(function))
