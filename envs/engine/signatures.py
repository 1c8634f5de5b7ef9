"""Signatures of operations, found once and not again in every line that has them.

Numba tries a dozen templates for each `a * b`, once for the types and once for the machine code, which took a quarter
of the time of compiling the engine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types

_found: dict[tuple[Any, ...], Any] = {}
"""Signatures by typing context, function and types of the arguments."""


@contextmanager
def remembered() -> Iterator[None]:
    """Let numba's functions remember their signatures while kernels compile, which is under numba's lock."""
    if "get_call_type" in vars(types.Function):  # a kernel that another one calls
        yield
        return
    types.Function.get_call_type = _get_call_type  # type: ignore[method-assign]
    try:
        yield
    finally:
        del types.Function.get_call_type


def _get_call_type(self: Any, context: Any, args: tuple[Any, ...], kws: Any) -> Any:
    key = context, self, tuple(args), tuple(dict(kws).items())
    if key not in _found:
        _found[key] = super(types.Function, self).get_call_type(context, args, kws)
    return _found[key]
