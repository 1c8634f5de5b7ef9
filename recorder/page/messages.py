"""Messages between a page and its server: JSON, and an environment's pictures after a header."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...common.reading import parse_json
from ...common.shared_settings import LARGEST_SEED
from ...envs.names import ACTION_KEYS, LONGEST_KEYS
from ..source import require_name

MAX_MESSAGE_BYTES = 2**17

MAX_FRAMES = 60
"""Frames whose keys one message may hold. The page sends a few at a time; this is two seconds' worth."""

MOST_FRAMES = 20_000
"""Frames in one message of a game that is played in the browser; longer games are sent in parts."""

MAX_GAME = 2**24
"""Largest number of a game: float32 counts up to here."""

SLOWEST = 0.25
"""Least pace at which the page lets a person play."""

_GAME = re.compile(r"[0-9a-f]{12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Start:
    """A new game begins here, numbered by the page; the one before it is left."""

    game: int


@dataclass(frozen=True)
class Keys:
    """The keys held in each of the next frames of a game, each key a bit."""

    game: int
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Back:
    """The person goes back in a coached game, which the page numbers anew."""

    game: int


@dataclass(frozen=True)
class HandOver:
    """The person hands control over, or takes it without a key."""

    game: int


@dataclass(frozen=True)
class Line:
    """The place of a coached game among those of its page. page, game: numbers of the page and of its game there, which
    decide the draws. of: the game that it left by going back, None for a whole one. step: decisions that both share."""

    page: int
    game: int
    of: str | None
    step: int


@dataclass(frozen=True)
class Decision:
    """A decision of a coached game: its first frame and who acted. action, number: the policy's action and the number
    of its draw; None for a person's, and no draw for a greedy policy's. probabilities: the policy's, as the page has
    computed them."""

    frame: int
    actor: int
    action: int | None
    number: int | None
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Begin:
    """A game of the browser is going to be sent. file: the name of the file that it comes from; None if it is played
    on the page. line: of a coached game."""

    game: str
    player: str
    tempo: float
    file: str | None
    line: Line | None = None


@dataclass(frozen=True)
class Frames:
    """Frames of a game from number `at` on, the keys of each, 0 to 15; and the decisions that begin in them."""

    game: str
    at: int
    frames: bytes
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True)
class End:
    """A game is over, or was left, after this many frames. sha256: of all states, as the browser played them."""

    game: str
    frames: int
    sha256: str


@dataclass(frozen=True)
class Discard:
    """A recorded game is to be taken out of the dataset."""

    name: str


class RefusedGame(ValueError):
    """A message about a game that cannot be recorded. game: as the message names it."""

    def __init__(self, game: str, reason: str) -> None:
        super().__init__(reason)
        self.game = game


Message = Start | Keys | Back | HandOver | Begin | Frames | End | Discard

_NUMBERED: Mapping[str, type[Start | Back | HandOver]] = {"start": Start, "back": Back, "hand over": HandOver}


def parse(message: str | bytes, num_keys: int = 4) -> Message:
    """Read a message of a page whose game has this many keys.

    RefusedGame for one that is of no use but names its game by its digits; ValueError for others.
    """
    match parse_json(message) if isinstance(message, str) else None:
        case {"type": "start" | "back" | "hand over" as kind, "game": int(game), **rest} if not rest and _is_game(game):
            return _NUMBERED[kind](game)
        case {"type": "keys", "game": int(game), "keys": list(keys), **rest} if not rest and _is_game(game):
            if len(keys) <= MAX_FRAMES and all(type(held) is int and 0 <= held < 2**num_keys for held in keys):
                return Keys(game, tuple(keys))
        case {"type": "begin" | "frames" | "end" as kind, "game": str(game), **content}:
            try:
                return _of_game(kind, game, content)
            except ValueError as error:
                raise RefusedGame(game, str(error)) from None
        case {"type": "discard", "name": str(name), **rest} if not rest:
            return Discard(name)
    raise ValueError("not a message of the page")


def _of_game(kind: str, game: str, content: Mapping[object, object]) -> Begin | Frames | End:
    if not _GAME.fullmatch(game):
        raise ValueError("its number is not one of the page")
    match kind, content:
        case "begin", {"player": player, "tempo": float() | int() as tempo, "file": file, **more}:
            name = require_name(player, "its player's name")
            if not SLOWEST <= tempo <= 1:
                raise ValueError("it was played at an unknown pace")
            file = None if file is None else require_name(file, "its file's name")
            return Begin(game, name, float(tempo), file, _line(more["place"]) if "place" in more else None)
        case "frames", {"at": int(at), "frames": list(frames), **more}:
            whole = len(frames) <= MOST_FRAMES and all(type(frame) is int and 0 <= frame < 16 for frame in frames)
            decisions: Any = more.get("decisions", [])
            if whole and isinstance(decisions, list) and 0 <= at <= LONGEST_KEYS - len(frames):
                return Frames(game, at, bytes(frames), tuple(map(_decision, decisions)))
        case "end", {"frames": int(frames), "sha256": str(sha256)}:
            if 0 < frames <= LONGEST_KEYS and _DIGEST.fullmatch(sha256):
                return End(game, frames, sha256)
    raise ValueError("its message is not one of the page")


def _line(place: object) -> Line:
    match place:
        case {"page": int(page), "game": int(game), "of": None | str() as of, "step": int(step)}:
            if min(page, game, step) >= 0 and max(page, game) <= LARGEST_SEED and (of is None or _GAME.fullmatch(of)):
                return Line(page, game, of, step)
    raise ValueError("its place among the lines is not one of the page")


def _decision(decision: Any) -> Decision:
    match decision:
        case [int(frame), 0 as actor, int(action), None | int() as number, [*odds]] if _numbers(odds):
            if action in range(len(ACTION_KEYS)) and (number is None or number in range(LONGEST_KEYS + 2)):
                return Decision(frame, actor, action, number, tuple(odds))
        case [int(frame), 1 as actor, None, None, [*odds]] if _numbers(odds):
            return Decision(frame, actor, None, None, tuple(odds))
    raise ValueError("a decision of it is not one of the page")


def _numbers(values: list[Any]) -> bool:
    return len(values) == len(ACTION_KEYS) and all(type(value) in (int, float) for value in values)


def _is_game(number: int) -> bool:
    return type(number) is int and 0 <= number <= MAX_GAME


def picture(game: int, last: int, total: float, image: bytes) -> bytes:
    """Encode a picture of a game: its number, the index of the last frame and the return, all float32, then the file.

    image: empty if the frame has not changed.
    """
    return np.array([game, last, total], dtype="<f4").tobytes() + image


def encode(**answer: Any) -> str:
    """Encode any other answer."""
    return json.dumps(answer, allow_nan=False)
