"""A page's first world, the beginning of a game on it, and games from the keys of every frame."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from . import layout as at
from . import native
from .batch import HIDDEN
from .bodies import HEAD_ANGLE, HEAD_STIFFNESS, START
from .layout import INTEGERS, REALS
from .workspace import workspace

Game = tuple[NDArray[np.float64], NDArray[np.int32]]


@cache
def _load(library: native.Engine, trigonometry: str) -> Game:
    reals, integers = np.zeros((1, REALS)), np.zeros((1, INTEGERS), dtype=np.int32)
    native.call("load_page", reals[0], integers[0], trigonometry=trigonometry, library=library)
    return reals, integers


def loaded(trigonometry: str = "current", library: native.Engine | None = None) -> Game:
    """The world of a page that has just been loaded: rows [1, REALS] and [1, INTEGERS]."""
    reals, integers = _load(library or native.engine(), trigonometry)
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
        play_together(reals, integers, [np.array([held if last else 0], dtype=np.uint8)], 1, trigonometry)


def wait(reals: NDArray[np.float64], frames: int) -> None:
    """Let frames pass before the first click, in which only the torque on the head grows; reals [1, REALS]."""
    for _ in range(frames):
        reals[0, at.HEAD_TORQUE] += HEAD_STIFFNESS * (START[at.HEAD, at.ANGLE] + HEAD_ANGLE)


@cache
def _first_game() -> Game:
    reals, integers = loaded()
    begin(reals, integers)
    return reals, integers


def new_games(n: int) -> Game:
    """`n` games, each the first on a page just loaded: rows [n, REALS] and [n, INTEGERS]."""
    reals, integers = _first_game()
    return np.repeat(reals, n, axis=0), np.repeat(integers, n, axis=0)


def play_together(
    reals: NDArray[np.float64],
    integers: NDArray[np.int32],
    keys: Sequence[NDArray[np.uint8]],
    width: int = native.MANY,
    trigonometry: str = "current",
    library: native.Engine | None = None,
) -> list[NDArray[np.float64]]:
    """Play g games (rows [g, REALS] and [g, INTEGERS]), each with its keys [n]; return their states from now on.

    A game's states, frame by frame: float64 [m + 1, 93], bodies, events and what they do not show
    (`observations.HIDDEN`); m < n if the game ended. width: games side by side; by default as many as there are lanes.
    """
    begins = np.concatenate([[0], np.cumsum([len(one) for one in keys])]).astype(np.int64)
    frames = np.empty((begins[-1] + len(keys), at.EVENTS + 6 + HIDDEN))
    counts = np.zeros(len(keys), dtype=np.int64)
    space = workspace((library or native.engine()).width)
    native.call(
        "play_keys", reals, integers, np.concatenate(keys), begins, frames, counts, *space,
        width=width, trigonometry=trigonometry, library=library,
    )  # fmt: skip
    return [
        frames[begin : begin + count + 1] for begin, count in zip(begins[:-1] + range(len(keys)), counts, strict=True)
    ]
