"""Sine and cosine by the mathematical library of the browser that is simulated.

Chromium has computed them by the C library's algorithm since 2023 (`trigonometry`), and by fdlibm's before. The two
differ in the last bit of some arguments, so a game recorded in an older browser replays exactly only with the latter.

The type of a kernel's `lanes`, a tuple of zeros (see `lanes`), names the library: integer zeros stand for today's,
floating-point zeros for fdlibm. The compiler makes the choice, so it costs nothing at run time.
"""

from typing import Any

from numba.core import types
from numba.extending import overload

from . import fdlibm, trigonometry
from .compiled import OPTIONS


def sine_and_cosine(lanes, x):
    """Compute sin x and cos x, of a number or of lanes of them (only inside kernels)."""
    raise NotImplementedError("sine_and_cosine is for kernels; math.sin and math.cos are for Python")


_INLINED: Any = {**OPTIONS, "forceinline": True}


@overload(sine_and_cosine, jit_options=_INLINED)
def _sine_and_cosine(lanes, x):
    library = fdlibm if isinstance(lanes.dtype, types.Float) else trigonometry
    chosen = library.sine_and_cosine
    return lambda lanes, x: chosen(x)
