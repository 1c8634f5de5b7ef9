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
from .lanes import WIDTH

TRIGONOMETRIES = ("current", "fdlibm")
"""By name: what Chrome has computed since 2023, and what it did before, as some builds of Chromium still do."""


def lanes_of(trigonometry: str, width: int = WIDTH) -> tuple[int | float, ...]:
    """The `lanes` of kernels that calculate by a library of `TRIGONOMETRIES`."""
    return (0,) * width if trigonometry == "current" else (0.0,) * width


def sine_and_cosine(lanes, x):
    """Compute sin x and cos x, of a number or of lanes of them (only inside kernels)."""
    raise NotImplementedError("sine_and_cosine is for kernels; math.sin and math.cos are for Python")


_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True}


@overload(sine_and_cosine, jit_options=_OPTIONS)
def _sine_and_cosine(lanes, x):
    library = fdlibm if isinstance(lanes.dtype, types.Float) else trigonometry
    chosen = library.sine_and_cosine
    return lambda lanes, x: chosen(x)
