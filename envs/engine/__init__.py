"""The engine: the original game's physics and rules, to the bit, compiled.

A batch of games is two arrays, `reals` float64 [n, REALS] and `integers` int32 [n, INTEGERS]; a row of each is the
state of one game, so copying rows saves games. `reals[i, :84]` is the table of the 14 bodies, `reals[i, 84:90]` are the
events (see `layout`).
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from . import page
from .run import play_keys, play_together
from .workspace import workspace

__all__ = ["new_games", "play_keys", "play_together", "workspace"]


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
