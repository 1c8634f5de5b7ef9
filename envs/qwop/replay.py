"""A recorded game, played again from its keys."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from ...common.errors import BadInput
from ..engine.page import RESETS
from .session import GameStart, Opening, PlayedGame, Replay, checked_keys

__all__ = ["Replay", "replay"]


def replay(
    keys: ArrayLike,
    reset: str = "a",
    before: Sequence[ArrayLike | PlayedGame] = (),
    trigonometry: str = "current",
) -> Replay:
    """Play a game from `keys`, uint8 [n], the keys down in each frame (Q = 1, W = 2, O = 4, P = 8), up to its end.

    before: the games that the same page played earlier, in order: their keys, or a `PlayedGame` where one began in
    another way than by one reset with no key held. reset: 'a' for one reset, 'b' for two in a row. 'b' equals the
    second game of a page only if the first neither moved the track nor touched the hurdle; otherwise give `before`.
    trigonometry: 'current', or 'fdlibm' for browsers that calculate by it: before 2023, and some since. Raises BadInput
    for other values, and for anything but keys.
    """
    if reset not in RESETS:
        raise BadInput(f"reset={reset}: expected one of {', '.join(RESETS)}")
    games = tuple(game if isinstance(game, PlayedGame) else PlayedGame(checked_keys(game)) for game in before)
    opening = Opening(resets=RESETS.index(reset) + 1)
    return GameStart(games, opening, trigonometry).session().play(keys)
