"""A page's first world, and the beginning of a game on it."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from . import layout as at
from . import native
from .bodies import HEAD_ANGLE, HEAD_STIFFNESS, START
from .layout import INTEGERS, REALS
from .run import play_keys

RESETS = ("a", "b")
"""Names of a page's first games, by the resets before them: one, or two in a row."""

Game = tuple[NDArray[np.float64], NDArray[np.int32]]


@cache
def _loaded(trigonometry: str) -> Game:
    return new_page(native.engine(), trigonometry)


def new_page(library: native.Engine, trigonometry: str) -> Game:
    """The world of a page that this library has just loaded: rows [1, REALS] and [1, INTEGERS]."""
    reals, integers = np.zeros((1, REALS)), np.zeros((1, INTEGERS), dtype=np.int32)
    native.call("load_page", reals[0], integers[0], trigonometry=trigonometry, library=library)
    return reals, integers


def loaded(trigonometry: str = "current") -> Game:
    """The world of a page that has just been loaded: rows [1, REALS] and [1, INTEGERS]."""
    reals, integers = _loaded(trigonometry)
    return reals.copy(), integers.copy()


def begin(
    reals: NDArray[np.float64],
    integers: NDArray[np.int32],
    resets: int = 1,
    held: int = 0,
    waiting: int = 0,
    *,
    trigonometry: str = "current",
) -> None:
    """Reset a page's game `resets` times, each with the frame that a reset plays; see `session.Opening`."""
    for number in range(resets):
        native.call("reset_page", reals[0], integers[0], trigonometry=trigonometry)
        last = number == resets - 1
        if last:
            wait(reals, waiting)
        play_keys(reals, integers, np.array([held if last else 0], dtype=np.uint8), trigonometry)


def wait(reals: NDArray[np.float64], frames: int) -> None:
    """Let frames pass before the first click, in which only the torque on the head grows; reals [1, REALS]."""
    for _ in range(frames):
        reals[0, at.HEAD_TORQUE] += HEAD_STIFFNESS * (START[at.HEAD, at.ANGLE] + HEAD_ANGLE)
