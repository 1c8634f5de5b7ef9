"""numba as a front end: kernels become LLVM code, neither optimised nor assembled; `build` makes libraries of it.

Never with `fastmath`: every operation rounds as written.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast
from unittest.mock import patch

import numba
from llvmlite import binding as llvm
from numba.core import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.np import arrayobj

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


class _Code(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code of a kernel and of those that it calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave that to the targets."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # there is no machine code


@contextmanager
def code_alone() -> Iterator[None]:
    """Context manager: numba compiles to LLVM code alone, and takes indices as they are.

    Numba lets a negative index count from the end, and looks at the sign of each to do so, which takes an eighth of
    the time of a frame. No index of the kernels is negative.
    """
    with (
        patch.object(JITCPUCodegen, "_library_class", _Code),
        patch.object(JITCPUCodegen, "set_env", lambda *_: None),
        patch.object(arrayobj, "fix_integer_index", _as_it_is),
    ):
        yield


def _as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    return context.cast(builder, index, kind, types.intp)


def code_of(kernel: Callable[..., Any], kinds: tuple[Any, ...]) -> tuple[str, Any]:
    """Return a kernel's symbol and an LLVM module that defines it, for arguments of these types of numba's."""
    dispatcher: Any = kernel
    dispatcher.compile(kinds)
    compiled = dispatcher.overloads[kinds]
    compiled.library._ensure_finalized()
    return compiled.fndesc.llvm_func_name, llvm.parse_assembly(str(compiled.library._final_module))
