"""Messages of the page to its recorder: JSON, a frame of a game as one number."""

import re
from dataclasses import dataclass

from ...common.reading import parse_json
from ...envs.names import LONGEST_KEYS
from ..page.messages import Discard

MOST_FRAMES = 20_000
"""Frames in one message; the page sends a few at a time, and longer games in parts."""

MAX_MESSAGE_BYTES = 2**17

LONGEST_NAME = 100

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


def parse(message: str | bytes) -> Begin | Frames | End | Discard:
    """Read a message of the page; ValueError for anything else."""
    match parse_json(message) if isinstance(message, str) else None:
        case {"type": "begin", "game": game, "player": str(player), "tempo": float() | int() as tempo, "file": file}:
            fits = SLOWEST <= tempo <= 1 and (file is None or (isinstance(file, str) and 0 < len(file) <= LONGEST_NAME))
            if _is_game(game) and 0 < len(player) <= LONGEST_NAME and fits:
                return Begin(game, player, float(tempo), file)
        case {"type": "frames", "game": game, "at": int(at), "frames": list(frames)}:
            whole = len(frames) <= MOST_FRAMES and all(type(frame) is int and 0 <= frame < 256 for frame in frames)
            if _is_game(game) and whole and 0 <= at <= LONGEST_KEYS - len(frames):
                return Frames(game, at, bytes(frames))
        case {"type": "end", "game": game, "frames": int(frames), "sha256": str(sha256)}:
            if _is_game(game) and 0 < frames <= LONGEST_KEYS and _DIGEST.fullmatch(sha256):
                return End(game, frames, sha256)
        case {"type": "discard", "name": str(name)}:
            return Discard(name)
    raise ValueError("not a message of the page")


def _is_game(game: object) -> bool:
    return isinstance(game, str) and _GAME.fullmatch(game) is not None
