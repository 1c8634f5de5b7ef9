"""Messages of the page to its recorder: JSON, a frame of a game as one number."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...common.reading import parse_json
from ...envs.names import LONGEST_KEYS
from ..page.messages import Discard
from ..person import require_name

MOST_FRAMES = 20_000
"""Frames in one message; the page sends a few at a time, and longer games in parts."""

MAX_MESSAGE_BYTES = 2**17

SLOWEST = 0.25
"""Least pace at which the page lets a person play."""

_GAME = re.compile(r"[0-9a-f]{12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Begin:
    """A game is going to be sent. file: the name of the file that it comes from; None if it is played on the page."""

    game: str
    player: str
    tempo: float
    file: str | None


@dataclass(frozen=True)
class Frames:
    """Frames of a game from number `at` on: the keys, and 16 times the four check bits of the state after them."""

    game: str
    at: int
    frames: bytes


@dataclass(frozen=True)
class End:
    """A game is over, or was left, after this many frames. sha256: of all states, as the browser played them."""

    game: str
    frames: int
    sha256: str


class RefusedGame(ValueError):
    """A message about a game that cannot be recorded. game: as the message names it."""

    def __init__(self, game: str, reason: str) -> None:
        super().__init__(reason)
        self.game = game


def parse(message: str | bytes) -> Begin | Frames | End | Discard:
    """Read a message of the page. RefusedGame for one that is of no use but names its game; ValueError for others."""
    match parse_json(message) if isinstance(message, str) else None:
        case {"type": "begin" | "frames" | "end" as kind, "game": str(game), **content}:
            try:
                return _of_game(kind, game, content)
            except ValueError as error:
                raise RefusedGame(game, str(error)) from None
        case {"type": "discard", "name": str(name)}:
            return Discard(name)
    raise ValueError("not a message of the page")


def _of_game(kind: str, game: str, content: Mapping[object, object]) -> Begin | Frames | End:
    if not _GAME.fullmatch(game):
        raise ValueError("its number is not one of the page")
    match kind, content:
        case "begin", {"player": player, "tempo": float() | int() as tempo, "file": file}:
            name = require_name(player, "its player's name")
            if not SLOWEST <= tempo <= 1:
                raise ValueError("it was played at an unknown pace")
            return Begin(game, name, float(tempo), None if file is None else require_name(file, "its file's name"))
        case "frames", {"at": int(at), "frames": list(frames)}:
            whole = len(frames) <= MOST_FRAMES and all(type(frame) is int and 0 <= frame < 256 for frame in frames)
            if whole and 0 <= at <= LONGEST_KEYS - len(frames):
                return Frames(game, at, bytes(frames))
        case "end", {"frames": int(frames), "sha256": str(sha256)}:
            if 0 < frames <= LONGEST_KEYS and _DIGEST.fullmatch(sha256):
                return End(game, frames, sha256)
    raise ValueError("its message is not one of the page")
