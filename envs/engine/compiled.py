"""Decorators of the engine's kernels: compiled by numba, without the GIL, kept on disk by `kernel_cache`."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from ...common.kernel_cache import on_disk
from . import linking
from .kernel_cache import ENGINE, SharedKernelCache

Function = TypeVar("Function", bound=Callable[..., Any])

# Without numba's runtime nothing can be allocated, and views of arrays are not counted (which took half the time).
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_CALLED: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True}
_INTERNAL: dict[str, Any] = {**_CALLED, "pipeline_class": linking.Part}


def compiled(function: Function) -> Function:
    """A kernel that Python calls: compiled on first use and kept on disk.

    Never with `fastmath`: every operation rounds as written.
    """
    return cast(Function, on_disk(ENGINE, **_OPTIONS, pipeline_class=linking.Whole)(function))


def machine_code(kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of a `compiled` kernel for arguments of these types.

    It is called without looking at the types again, which takes half the time of a call: with others, anything can
    happen.
    """
    dispatcher: Any = kernel
    kinds = tuple(map(numba.typeof, arguments))
    dispatcher.compile(kinds)
    return cast(Callable[..., Any], dispatcher.get_overload(kinds))


def shared(function: Function) -> Function:
    """A large kernel that kernels call: compiled once, by itself, and kept on disk."""
    dispatcher: Any = numba.njit(**_CALLED, pipeline_class=linking.Shared)(function)
    dispatcher._cache = SharedKernelCache(function, ENGINE)
    return cast(Function, dispatcher)


def internal(function: Function) -> Function:
    """A kernel that only kernels call; it is compiled into each of them."""
    return cast(Function, numba.njit(**_INTERNAL)(function))


def inlined(function: Function) -> Function:
    """A small kernel that only kernels call; LLVM inlines every call."""
    return cast(Function, numba.njit(**_INTERNAL, forceinline=True)(function))


def merged(function: Function) -> Function:
    """A kernel that numba merges into its callers before compiling them.

    Numba compiles a kernel again for each caller, so a deep chain of calls compiles slowly; use this for the links of
    the chain that do little themselves.
    """
    return cast(Function, numba.njit(**_INTERNAL, inline="always")(function))
