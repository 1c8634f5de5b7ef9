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
    print("compiling the game's engine; once after an installation or a change, about 15 seconds …", file=sys.stderr)


def compiled(function: Function) -> Function:
    """Compile on first use; without `fastmath`, so that every operation rounds as written."""
    dispatcher: Any = numba.njit(nogil=True)(function)
    dispatcher._cache = _KernelCache(dispatcher.py_func)
    return cast(Function, dispatcher)
