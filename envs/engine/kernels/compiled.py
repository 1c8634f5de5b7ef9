"""Decorators of kernels: functions that numba turns into LLVM code, and `build` into libraries.

Never with `fastmath`: every operation rounds as written.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Without numba's runtime nothing can be allocated, and views of arrays are not counted (which took half the time).
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_OPTIONS: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True}


def kernel(function: Function) -> Function:
    """A function of the library, or of its kernels."""
    return cast(Function, numba.njit(**_OPTIONS)(function))


def inlined(function: Function) -> Function:
    """A small kernel that only kernels call; LLVM inlines every call."""
    return cast(Function, numba.njit(**_OPTIONS, forceinline=True)(function))
