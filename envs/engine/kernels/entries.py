"""The functions of the libraries, by the names of `interface.KERNELS`; and the browser's, with its arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import layout as at
from ..batch import CONTACT_FEATURES
from ..workspace import PLAYING, PLAYING_COUNT, PRESSED, workspace
from . import decisions, features, game, learning, raster, rewards
from .compiled import kernel
from .lanes import ONE_LANE

ENTRIES: dict[str, Callable[..., Any]] = {
    "play_games": decisions.play_games,
    "play_keys": game.play_keys,
    "play_frame": game.play_frame,
    "load_page": game.load_page,
    "reset_page": game.reset_page,
    "observe_all": features.observe_all,
    "observe_start": features.observe_start,
    "bent_knees": features.bent_knees,
    "distances": features.distances,
    "decision_rewards": rewards.decision_rewards,
    "touching": rewards.touching,
    "count_touchdowns": rewards.count_touchdowns,
    "draw_games": raster.draw_games,
    "set_leaves": learning.set_leaves,
    "find_leaves": learning.find_leaves,
    "rmsprop": learning.rmsprop,
    "tanh": learning.tanh,
}


# A browser's module holds one game in arrays of its own. Loading it again gives another game; copying `reals` and
# `integers` saves one.


@kernel
def load(reals, integers):
    """A page that has just been loaded."""
    game.load_page(ONE_LANE, reals[0], integers[0])


@kernel
def reset(reals, integers):
    """The page's reset, but for the frame that it plays."""
    game.reset_page(ONE_LANE, reals[0], integers[0])


@kernel
def frame(reals, integers, scratch, work, keys):
    """A frame with these keys down."""
    work[0, PLAYING_COUNT], work[0, PLAYING], work[0, PRESSED] = 1, 0, keys
    game.advance(ONE_LANE, reals, integers, scratch, work)


@kernel
def observe(reals, observation, kind):
    """The observation of this kind (`batch.FEATURES_ONLY`, …)."""
    features.observe_game(kind, reals[0], observation)


@kernel
def observe_start(observation, scratch, kind):
    """The start position, as observers see it that lag by a frame."""
    features.observe_start(kind, scratch, observation)


def _arrays() -> dict[str, NDArray[Any]]:
    scratch, work = workspace(1)
    return {
        "reals": np.zeros((1, at.REALS)),
        "integers": np.zeros((1, at.INTEGERS), dtype=np.int32),
        "scratch": scratch,
        "work": work,
        "observation": np.zeros(CONTACT_FEATURES, dtype=np.float32),
    }


BROWSER_ARRAYS = _arrays()
"""The arrays of a browser's module with their first contents."""

BROWSER_ENTRIES: tuple[tuple[Callable[..., Any], tuple[str, ...]], ...] = (
    (load, ("reals", "integers")),
    (reset, ("reals", "integers")),
    (frame, ("reals", "integers", "scratch", "work", "keys")),
    (observe, ("reals", "observation", "kind")),
    (observe_start, ("observation", "scratch", "kind")),
)
"""The functions of a browser's module and their parameters: an array, or a whole number."""
