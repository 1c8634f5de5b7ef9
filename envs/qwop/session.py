"""A page of the game, on which games are played one after the other.

A reset recreates the runner and the hurdle but leaves the track and the broad phase's tree as the games before left
them. That decides the order of some contacts, and so the last bits of a game: from the hurdle on, now and then earlier.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common.errors import BadInput, quoted
from ..engine import layout as at
from ..engine import page, play_together
from ..engine.interface import TRIGONOMETRIES
from ..names import LONGEST_KEYS

RESETS = ("a", "b")
"""Names of a page's first games, by the resets before them: one, or two in a row."""

LONGEST_WAIT = 100_000
"""Largest number of frames of waiting in a file: an hour."""

MOST_GAMES = 1000
"""Largest number of earlier games in a file."""


@dataclass(frozen=True)
class Replay:
    """A game frame by frame; frame 0 is the state after the reset.

    `states`: float64 [n + 1, 14, 6], x, y, angle, vx, vy, angular velocity of `names.BODIES`, in the game's units.
    `events`: float64 [n + 1, 6], `names.EVENT_COLUMNS`. `hidden`: float64 [n + 1, 3], `names.HIDDEN_COLUMNS`; None
    if the source does not tell.
    """

    states: NDArray[np.float64]
    events: NDArray[np.float64]
    hidden: NDArray[np.float64] | None = None

    @property
    def sha256(self) -> str:
        """Digest of all states as little-endian bytes, 64 hexadecimal digits: the same wherever a game is played
        exactly, in this simulator or in a browser."""
        return hashlib.sha256(np.ascontiguousarray(self.states, "<f8").tobytes()).hexdigest()


@dataclass(frozen=True)
class Opening:
    """The beginning of a game, from the end of the one before.

    resets: how many in a row, each with its frame (some ways of asking for a reset make two). held: the keys down in
    the frame that the last reset plays. waiting: frames between the reset and the first click on a page that nobody has
    clicked yet; the world stands still meanwhile, but the torque on the head keeps growing.
    """

    resets: int = 1
    held: int = 0
    waiting: int = 0

    def __post_init__(self) -> None:
        for name, least, most in (("resets", 1, 100), ("held", 0, 15), ("waiting", 0, LONGEST_WAIT)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise BadInput(f"{name}={value!r}: expected a whole number from {least} to {most:,}")


@dataclass(frozen=True)
class PlayedGame:
    """A game of a page: its opening, and the keys of every frame after the reset's, uint8 [n]."""

    keys: NDArray[np.uint8]
    opening: Opening = Opening()


def _require_known(trigonometry: str) -> None:
    if trigonometry not in TRIGONOMETRIES:
        raise BadInput(f"trigonometry={trigonometry}: expected one of {', '.join(TRIGONOMETRIES)}")


@dataclass(frozen=True)
class GameStart:
    """Everything that determines a game's start: with it and the keys, a game replays to the bit.

    before: the games that the page played earlier, in order. opening: how this one began. trigonometry: the browser's
    sine and cosine, one of `TRIGONOMETRIES`.
    """

    before: tuple[PlayedGame, ...] = ()
    opening: Opening = Opening()
    trigonometry: str = "current"

    def __post_init__(self) -> None:
        _require_known(self.trigonometry)

    def session(self) -> "Session":
        """A page at frame 0 of the game."""
        session = Session(self.trigonometry)
        for game in self.before:
            session.begin(game.opening)
            session.play(game.keys)
        session.begin(self.opening)
        return session

    def to_json(self) -> dict[str, Any]:
        """Plain data; keys as stretches [frames, keys]."""
        return {
            "trigonometry": self.trigonometry,
            "before": [{**asdict(game.opening), "keys": _runs(game.keys)} for game in self.before],
            **asdict(self.opening),
        }

    @classmethod
    def from_json(cls, data: Any) -> "GameStart":
        """The inverse of `to_json`; BadInput for anything else."""
        try:
            if len(data["before"]) > MOST_GAMES:
                raise BadInput(f"{len(data['before']):,} games before this one, expected at most {MOST_GAMES}")
            before = tuple(PlayedGame(_frames(game["keys"]), _opening_from_json(game)) for game in data["before"])
            if sum(len(game.keys) for game in before) > LONGEST_KEYS:
                raise BadInput(f"more than {LONGEST_KEYS:,} frames before this game")
            return cls(before, _opening_from_json(data), data["trigonometry"])
        except BadInput:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"not the start of a game ({type(error).__name__}: {quoted(error)})") from None


class Session:
    """A page that has just been loaded with the game, to be reset and played.

    trigonometry: the browser's, one of `TRIGONOMETRIES`, else BadInput. The world is carried over from game to game, as
    the page does.
    """

    def __init__(self, trigonometry: str = "current") -> None:
        _require_known(trigonometry)
        self.trigonometry = trigonometry
        self._reals, self._integers = page.loaded(trigonometry)

    def begin(self, opening: Opening = Opening()) -> None:
        """Begin a game: the resets, then the frame that the last one plays. The game is at its frame 0 then."""
        page.begin(
            self._reals, self._integers, opening.resets, opening.held, opening.waiting, trigonometry=self.trigonometry
        )

    def play(self, keys: ArrayLike) -> Replay:
        """Play frames with these keys, uint8 [n], up to the game's end; all states from the present one on.

        Nothing is played after the end: the page's later frames are not visible in its pictures.
        """
        (frames,) = play_together(self._reals, self._integers, [checked_keys(keys)], 1, self.trigonometry)
        states, events, hidden = np.split(frames, (at.EVENTS, at.EVENTS + 6), axis=1)
        return Replay(states.reshape(-1, at.MOVING, 6).copy(), events.copy(), hidden.copy())

    def get_state(self) -> dict[str, NDArray[Any]]:
        """The whole page, for `set_state`: float64 `reals` [REALS] and int32 `integers` [INTEGERS] of the engine."""
        return {"reals": self._reals[0].copy(), "integers": self._integers[0].copy()}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a state of `get_state` of any session."""
        self._reals[0], self._integers[0] = state["reals"], state["integers"]


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


def checked_keys(keys: ArrayLike) -> NDArray[np.uint8]:
    """The keys of frames as uint8 [n]; BadInput for anything else."""
    pressed = np.asarray(keys)
    problem = None
    if pressed.ndim != 1 or (pressed.size and pressed.dtype.kind not in "iu"):
        problem = f"{pressed.dtype} of shape {pressed.shape}"
    elif len(outside := pressed[(pressed < 0) | (pressed > 15)]):
        problem = str(outside[0])
    if problem is not None:
        raise BadInput(f"keys: expected one row of whole numbers from 0 to 15, found {problem}")
    return pressed.astype(np.uint8)


def _opening_from_json(data: Mapping[str, Any]) -> Opening:
    return Opening(data["resets"], data["held"], data["waiting"])


def _runs(keys: NDArray[np.uint8]) -> list[list[int]]:
    """Run lengths: [frames, keys] for each stretch of the same keys."""
    return [[len([*run]), pressed] for pressed, run in groupby(keys.tolist())]


def _frames(runs: Any) -> NDArray[np.uint8]:
    if not runs:
        return np.empty(0, np.uint8)
    table = np.array(runs)
    if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu" or table[:, 0].min() < 1:
        raise BadInput("not the keys of a game: expected stretches [frames, keys]")
    if table[:, 0].max() > LONGEST_KEYS or table[:, 0].sum() > LONGEST_KEYS:
        raise BadInput(f"a game of more than {LONGEST_KEYS:,} frames")
    return checked_keys(np.repeat(table[:, 1], table[:, 0]))
