"""The engine: the original game's physics and rules, to the bit, compiled.

A batch of games is two arrays, `reals` float64 [n, REALS] and `integers` int32 [n, INTEGERS]; a row of each is the
state of one game, so copying rows saves games. `reals[i, :84]` is the table of the 14 bodies, `reals[i, 84:90]` are the
events (see `layout`).
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from . import native, page
from .run import play_keys, play_together
from .workspace import workspace

__all__ = ["fault_in", "new_games", "play_keys", "play_together", "workspace"]

_FAULTS = (
    None,
    "a number is not finite",
    "a body or joint has a state that there is not",
    "its boxes form no tree",
    "its contacts contradict each other",
)
"""Faults of a game, by the number that `find_fault` writes."""


@cache
def _game_after_reset(variant: str) -> page.Game:
    if variant not in page.RESETS:
        raise BadInput(f"reset={variant}: expected one of {', '.join(page.RESETS)}")
    reals, integers = page.loaded()
    page.begin(reals, integers, page.RESETS.index(variant) + 1)
    return reals, integers


def new_games(n: int, reset: str = "a") -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """`n` games on a page just loaded, after one reset (`a`) or after two in a row (`b`)."""
    reals, integers = _game_after_reset(reset)
    return np.repeat(reals, n, axis=0), np.repeat(integers, n, axis=0)


def fault_in(reals: NDArray[np.float64], integers: NDArray[np.int32]) -> str | None:
    """Describe what keeps kernels from playing a game, a row of each array; None if nothing does."""
    found = np.zeros(1, dtype=np.int64)
    native.call("find_fault", np.ascontiguousarray(reals), np.ascontiguousarray(integers), found)
    return _FAULTS[found[0]]
