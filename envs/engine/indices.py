"""Indices that are not negative.

Numba lets a negative index count from the end, and looks at the sign of each to do so, which takes an eighth of
the time of a frame. No index of the kernels is negative.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types
from numba.np import arrayobj


@contextmanager
def not_negative() -> Iterator[None]:
    """Let numba take indices as they are while kernels compile, which is under numba's lock."""
    numba_s = arrayobj.fix_integer_index
    arrayobj.fix_integer_index = _as_it_is
    try:
        yield
    finally:
        arrayobj.fix_integer_index = numba_s


def _as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    return context.cast(builder, index, kind, types.intp)
