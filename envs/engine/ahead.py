"""The engine's first use in two or three processes: others compile shared kernels while this one compiles the rest.

A process that compiles keeps its kernel on the disk, from where this one loads it. Without a second process, or when it
fails, this one compiles everything by itself.
"""

import os
import subprocess
import sys
from functools import cache
from typing import Any

from numba.core import types
from numba.core.registry import cpu_target

from .features import observe_game
from .island import solve_island
from .kernel_cache import ENGINE, being_compiled

_COMMAND = "from qwop.envs.engine.ahead import compile_island; compile_island({width})"


def _kinds(width: int) -> tuple[Any, ...]:
    """Types of the arguments of `solve_island`."""
    games = types.float64[:, ::1], types.int32[:, ::1]
    return types.UniTuple(types.int64, width), *games, types.float64[::1], types.int64[:, ::1]


def compile_island(width: int) -> None:
    """Compile the solver of an island in as many lanes; with one lane, which is the sooner done, observations too."""
    kernel: Any = solve_island
    kernel.compile(_kinds(width))
    if width == 1:
        observations: Any = observe_game
        observations.compile((types.float64, types.float64[::1], types.float32[::1]))


def compile_ahead(lanes: tuple[int | float, ...]) -> None:
    """Start to compile what games in these lanes will need, unless it is on the disk."""
    if isinstance(lanes[0], int):  # the solver of fdlibm is rarely needed
        for width in {1, len(lanes)}:
            _start(width)


@cache
def _start(width: int) -> None:
    kernel: Any = solve_island
    kinds = _kinds(width)
    if kinds in kernel.overloads or kernel._cache.holds(kinds, cpu_target.target_context):
        return
    try:
        ENGINE.make_folder()
        if os.access(ENGINE.folder(), os.W_OK):
            being_compiled[kinds] = subprocess.Popen(
                [sys.executable, "-P", "-c", _COMMAND.format(width=width)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
    except OSError:
        return
