"""Messages between the page and its server: JSON, and frames as rows of float32 or as a picture after a header."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.reading import parse_json

MAX_FRAMES = 60
"""Frames whose keys one message may hold. The page sends a few at a time; this is two seconds' worth."""

MAX_GAME = 2**24
"""Largest number of a game: float32 counts up to here."""


@dataclass(frozen=True)
class Start:
    """A new game begins, numbered by the page; the one before it is left."""

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
class Discard:
    """A recorded game is to be taken out of the dataset."""

    name: str


_OF_GAMES: Mapping[str, type[Start | Back | HandOver]] = {"start": Start, "back": Back, "hand over": HandOver}


def parse(message: str | bytes, num_keys: int) -> Start | Keys | Back | HandOver | Discard:
    """Read a message of the page of a game with this many keys; ValueError for anything else."""
    match parse_json(message) if isinstance(message, str) else None:
        case {"type": "start" | "back" | "hand over" as kind, "game": int(game), **rest} if not rest and _is_game(game):
            return _OF_GAMES[kind](game)
        case {"type": "keys", "game": int(game), "keys": list(keys), **rest} if not rest and _is_game(game):
            if len(keys) <= MAX_FRAMES and all(type(held) is int and 0 <= held < 2**num_keys for held in keys):
                return Keys(game, tuple(keys))
        case {"type": "discard", "name": str(name), **rest} if not rest:
            return Discard(name)
    raise ValueError("not a message of the page")


def frames(game: int, first: int, rows: NDArray[np.float32]) -> bytes:
    """Encode frames of a game: its number and the index of the first frame, both float32, then the rows."""
    return np.array([game, first], dtype="<f4").tobytes() + rows.tobytes()


def picture(game: int, last: int, total: float, image: bytes) -> bytes:
    """Encode a picture of a game: its number, the index of the last frame and the return, all float32, then the file.

    image: empty if the frame has not changed.
    """
    return np.array([game, last, total], dtype="<f4").tobytes() + image


def encode(**answer: Any) -> str:
    """Encode any other answer."""
    return json.dumps(answer, allow_nan=False)


def _is_game(number: int) -> bool:
    return type(number) is int and 0 <= number <= MAX_GAME
