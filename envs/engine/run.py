"""Games from the keys of every frame, every state kept: one, or several side by side in the lanes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from . import layout as at
from .ahead import compile_ahead
from .compiled import compiled, inlined
from .features import HIDDEN, hidden_of
from .game import advance
from .island import PLAYING, PLAYING_COUNT, PRESSED
from .lanes import ONE_LANE
from .world import workspace


def play_keys(
    reals: NDArray[np.float64],
    integers: NDArray[np.int32],
    keys: NDArray[np.uint8],
    lanes: tuple[int | float, ...] = ONE_LANE,
) -> NDArray[np.float64]:
    """Play a game (rows [1, REALS] and [1, INTEGERS]) with `keys` [n]; return its states from now on, frame by frame.

    float64 [m + 1, 93]: bodies, events and what they do not show (`features.hidden_of`); m < n if the game ended.
    """
    return play_together(reals, integers, [keys], lanes)[0]


def play_together(
    reals: NDArray[np.float64],
    integers: NDArray[np.int32],
    keys: Sequence[NDArray[np.uint8]],
    lanes: tuple[int | float, ...],
) -> list[NDArray[np.float64]]:
    """Play g games (rows [g, REALS] and [g, INTEGERS]), each with its keys [n], in as many lanes; see `play_keys`."""
    compile_ahead(lanes)
    begins = np.concatenate([[0], np.cumsum([len(one) for one in keys])]).astype(np.int64)
    frames = np.empty((begins[-1] + len(keys), at.EVENTS + 6 + HIDDEN))
    played = np.zeros(len(keys), dtype=np.int64)
    _play(lanes, reals, integers, np.concatenate(keys), begins, frames, played, *workspace(len(lanes)))
    return [
        frames[begin : begin + count + 1] for begin, count in zip(begins[:-1] + range(len(keys)), played, strict=True)
    ]


@compiled
def _play(lanes, reals, integers, keys, begins, frames, played, memory, work):
    """Play all games: game g with keys[begins[g] : begins[g + 1]], into the frames from begins[g] + g on.

    A game that is over leaves its lane to the next one.
    """
    games = len(played)
    for game in range(games):
        _keep(reals[game], frames[begins[game] + game])
    following = count = 0
    while True:
        kept = 0
        for place in range(count):
            game = work[place, PLAYING]
            if played[game] < begins[game + 1] - begins[game] and reals[game, at.ENDED] == 0.0:
                work[kept, PLAYING] = game
                kept += 1
        while kept < len(lanes) and following < games:
            if begins[following + 1] > begins[following] and reals[following, at.ENDED] == 0.0:
                work[kept, PLAYING] = following
                kept += 1
            following += 1
        count = kept
        if count == 0:
            return
        work[0, PLAYING_COUNT] = count
        for place in range(count):
            game = work[place, PLAYING]
            work[place, PRESSED] = keys[begins[game] + played[game]]
        advance(lanes, reals, integers, memory, work)
        for place in range(count):
            game = work[place, PLAYING]
            played[game] += 1
            _keep(reals[game], frames[begins[game] + game + played[game]])


@inlined
def _keep(reals, frame):
    for place in range(at.EVENTS + 6):
        frame[place] = reals[place]
    hidden_of(reals, frame[at.EVENTS + 6 :])
