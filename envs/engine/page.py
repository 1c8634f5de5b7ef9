"""A page's first world, and the beginning of a game on it."""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from . import layout as at
from .ahead import compile_ahead
from .bodies import START
from .game import HEAD_ANGLE, HEAD_STIFFNESS, load_page, reset
from .layout import INTEGERS, REALS
from .libraries import lanes_of
from .run import play_keys

RESETS = ("a", "b")
"""Names of a page's first games, by the resets before them: one, or two in a row."""

Game = tuple[NDArray[np.float64], NDArray[np.int32]]


FIRST_GAME = Path(__file__).with_name("first_game.npz")
"""A page's first game at its frame 0, kept in a file: an environment can begin without the kernels that make it."""


def first_game() -> Game:
    """Return a page's first game after its reset, with the frame that it plays: rows [1, REALS] and [1, INTEGERS]."""
    with np.load(FIRST_GAME) as kept:
        return kept["reals"], kept["integers"]


def played_first_game() -> Game:
    """Return the same by playing it; `np.savez_compressed(page.FIRST_GAME, reals=…, integers=…)` keeps it."""
    reals, integers = loaded()
    begin(reals, integers)
    return reals, integers


@cache
def _loaded(trigonometry: str) -> Game:
    lanes = lanes_of(trigonometry, 1)
    compile_ahead(lanes)
    reals, integers = np.zeros((1, REALS)), np.zeros((1, INTEGERS), dtype=np.int32)
    load_page(lanes, reals[0], integers[0])
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
    lanes = lanes_of(trigonometry, 1)
    for number in range(resets):
        reset(lanes, reals[0], integers[0])
        last = number == resets - 1
        if last:
            wait(reals, waiting)
        play_keys(reals, integers, np.array([held if last else 0], dtype=np.uint8), lanes)


def wait(reals: NDArray[np.float64], frames: int) -> None:
    """Let frames pass before the first click, in which only the torque on the head grows; reals [1, REALS]."""
    for _ in range(frames):
        reals[0, at.HEAD_TORQUE] += HEAD_STIFFNESS * (START[at.HEAD, at.ANGLE] + HEAD_ANGLE)
