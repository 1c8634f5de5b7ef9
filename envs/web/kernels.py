"""The functions of the WebAssembly module, compiled by numba to LLVM code, and the arrays that they work on.

A module holds one game in arrays of its own. Loading it again gives another game; copying `reals` and `integers` saves
one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.core import types
from numpy.typing import NDArray

from ..engine import game, workspace
from ..engine import layout as at
from ..engine.compiled import _OPTIONS
from ..engine.features import CONTACT_FEATURES, observe_game
from ..engine.features import observe_start as _observe_start
from ..engine.island import PLAYING, PLAYING_COUNT, PRESSED
from ..engine.lanes import ONE_LANE


def load(reals, integers):
    """A page that has just been loaded."""
    game.load_page(ONE_LANE, reals[0], integers[0])


def reset(reals, integers):
    """The page's reset, but for the frame that it plays."""
    game.reset(ONE_LANE, reals[0], integers[0])


def frame(reals, integers, scratch, work, keys):
    """A frame with these keys down."""
    work[0, PLAYING_COUNT], work[0, PLAYING], work[0, PRESSED] = 1, 0, keys
    game.advance(ONE_LANE, reals, integers, scratch, work)


def observe(reals, observation, kind):
    """The observation of this kind (`features.FEATURES_ONLY`, ...)."""
    observe_game(kind, reals[0], observation)


def observe_start(observation, scratch, kind):
    """The start position, as observers see it that lag by a frame."""
    _observe_start(kind, scratch, observation)


def _arrays() -> dict[str, NDArray[Any]]:
    scratch, work = workspace(1)
    return {
        "reals": np.zeros((1, at.REALS)),
        "integers": np.zeros((1, at.INTEGERS), dtype=np.int32),
        "scratch": scratch,
        "work": work,
        "observation": np.zeros(CONTACT_FEATURES, dtype=np.float32),
    }


ARRAYS = _arrays()
"""The module's arrays with their first contents."""

KERNELS: tuple[Callable[..., None], ...] = (load, reset, frame, observe, observe_start)
"""The module's functions. A parameter is an array of this name, or a whole number."""


@dataclass(frozen=True)
class Compiled:
    """A kernel as LLVM code. symbol: its function there; parameters: as in `KERNELS`."""

    name: str
    symbol: str
    parameters: tuple[str, ...]
    code: str


def compile_kernel(kernel: Callable[..., None]) -> Compiled:
    """Compile a kernel for the processor of `numba.config.CPU_NAME`."""
    code = kernel.__code__
    parameters = code.co_varnames[: code.co_argcount]
    signature = tuple(numba.typeof(ARRAYS[name]) if name in ARRAYS else types.int64 for name in parameters)
    options = {**_OPTIONS, "no_cpython_wrapper": True}
    dispatcher: Any = numba.njit(signature, **options)(kernel)
    compiled = dispatcher.overloads[dispatcher.signatures[0]]
    return Compiled(kernel.__name__, compiled.fndesc.llvm_func_name, parameters, compiled.library.get_llvm_str())
