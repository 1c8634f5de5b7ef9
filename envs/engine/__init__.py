"""The engine: the original game's physics and rules, to the bit, compiled.

A batch of games is two arrays, `reals` float64 [n, REALS] and `integers` int32 [n, INTEGERS]; a row of each is the
state of one game, so copying rows saves games. `reals[i, :84]` is the table of the 14 bodies, `reals[i, 84:90]` are the
events (see `layout`).
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from .game import load_page, reset
from .layout import INTEGERS, REALS
from .libraries import lanes_of
from .run import play_keys
from .world import workspace

__all__ = ["new_games", "play_keys", "workspace"]

RESETS = ("a", "b")


@cache
def _game_after_reset(variant: str, trigonometry: str) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    if variant not in RESETS:
        raise BadInput(f"reset={variant}: expected one of {', '.join(RESETS)}")
    reals, integers = np.zeros((1, REALS)), np.zeros((1, INTEGERS), dtype=np.int32)
    lanes = lanes_of(trigonometry, 1)
    load_page(lanes, reals[0], integers[0])
    for _ in range(RESETS.index(variant) + 1):
        reset(lanes, reals[0], integers[0])
        play_keys(reals, integers, np.zeros(1, dtype=np.uint8), lanes)
    return reals[0], integers[0]


def new_games(n: int, reset: str = "a", trigonometry: str = "current") -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """`n` games just after a reset: the first since the page was loaded (`a`), or the second (`b`)."""
    reals, integers = _game_after_reset(reset, trigonometry)
    return np.tile(reals, (n, 1)), np.tile(integers, (n, 1))
