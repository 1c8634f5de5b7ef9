"""Games from the keys of every frame, every state kept: one, or several side by side in the lanes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from . import layout as at
from . import native
from .observations import HIDDEN
from .workspace import workspace


def play_keys(
    reals: NDArray[np.float64],
    integers: NDArray[np.int32],
    keys: NDArray[np.uint8],
    trigonometry: str = "current",
    library: native.Engine | None = None,
) -> NDArray[np.float64]:
    """Play a game (rows [1, REALS] and [1, INTEGERS]) with `keys` [n]; return its states from now on, frame by frame.

    float64 [m + 1, 93]: bodies, events and what they do not show (`observations.HIDDEN`); m < n if the game ended.
    """
    return play_together(reals, integers, [keys], 1, trigonometry, library)[0]


def play_together(
    reals: NDArray[np.float64],
    integers: NDArray[np.int32],
    keys: Sequence[NDArray[np.uint8]],
    width: int = native.MANY,
    trigonometry: str = "current",
    library: native.Engine | None = None,
) -> list[NDArray[np.float64]]:
    """Play g games (rows [g, REALS] and [g, INTEGERS]), each with its keys [n], in all lanes; see `play_keys`."""
    begins = np.concatenate([[0], np.cumsum([len(one) for one in keys])]).astype(np.int64)
    frames = np.empty((begins[-1] + len(keys), at.EVENTS + 6 + HIDDEN))
    played = np.zeros(len(keys), dtype=np.int64)
    space = workspace((library or native.engine()).width)
    native.call(
        "play_keys", reals, integers, np.concatenate(keys), begins, frames, played, *space,
        width=width, trigonometry=trigonometry, library=library,
    )  # fmt: skip
    return [
        frames[begin : begin + count + 1] for begin, count in zip(begins[:-1] + range(len(keys)), played, strict=True)
    ]
