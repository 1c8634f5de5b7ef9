"""A game as one word of text, as links and files of the page of `qwop-play` have it (`play/static/packed.js`).

It holds the keys of every frame, the result that it claims, and four check bits a frame, which follow from the states
of all frames so far. A game whose replay differs is refused at the frame where it differs.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.checks import quoted
from ...common.errors import BadInput
from ..names import ENDED, LONGEST_KEYS, SCORE
from .session import GameStart, Replay
from .task import outcome_of

VERSION = 1
OUTCOMES = ("stopped", "finished", "fell")
TEMPOS = (1.0, 0.75, 0.5, 0.25)

LONGEST_NAME = 40
"""Bytes."""

_LONG_RUN = 16


@dataclass(frozen=True)
class PackedGame:
    """A game and the result that it claims.

    keys: uint8 [n]. bits: uint8 [n], the check bits. metres: the score. name: of the player. day: since 1 January 1970,
    by the player's calendar. tempo: pace at which a person played.
    """

    keys: NDArray[np.uint8]
    bits: NDArray[np.uint8]
    outcome: str
    metres: float
    name: str
    day: int
    tempo: float = 1.0

    @classmethod
    def from_text(cls, text: str) -> "PackedGame":
        """Read what a text claims; BadInput for anything else. `replay` checks it."""
        try:
            content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise BadInput("the game is not one of this page") from None
        at = iter(content)
        version = _read(at)
        if version != VERSION:
            raise BadInput(f"the game is of version {version}, expected version {VERSION}")
        flags, frames, signed, day = _read(at), _read(at), _read(at), _read(at)
        name = bytes(_byte(at) for _ in range(min(_read(at), LONGEST_NAME))).decode(errors="replace").strip()
        if flags % 4 >= len(OUTCOMES) or flags // 4 >= len(TEMPOS) or not 1 <= frames <= LONGEST_KEYS:
            raise BadInput("the game is damaged")
        keys: list[int] = []
        while len(keys) < frames:
            byte = _byte(at)
            count = byte % 16 + 1 if byte % 16 < _LONG_RUN - 1 else _LONG_RUN + _read(at)
            if len(keys) + count > frames:
                raise BadInput("the game is damaged")
            keys += [byte >> 4] * count
        checks = np.frombuffer(bytes(at), np.uint8)
        if len(checks) != (frames + 1) // 2:
            raise BadInput("the game is cut off")
        bits = np.stack([checks & 15, checks >> 4], axis=1).ravel()[:frames]
        tenths = signed // 2 if signed % 2 == 0 else -(signed + 1) // 2
        outcome, tempo = OUTCOMES[flags % 4], TEMPOS[flags // 4]
        return cls(np.array(keys, np.uint8), bits, outcome, tenths / 10, name or "somebody", day, tempo)

    def replay(self) -> Replay:
        """Play the game. BadInput, with the frame, if the replay differs from its claims."""
        game = GameStart().session().play(self.keys)
        frames = len(game.states) - 1
        if (frame := first_difference(self.bits, game)) is not None:
            raise BadInput(f"the game does not play as it says: it differs at frame {frame}")
        if frames < len(self.keys):
            raise BadInput(f"the game ends at frame {frames}, before its keys do")
        outcome, metres = result_of(game)
        if outcome != self.outcome:
            raise BadInput(f"the game says {quoted(self.outcome)}, but at frame {frames} it is {quoted(outcome)}")
        if round(10 * metres) != round(10 * self.metres):
            raise BadInput(f"the game says {self.metres:.1f} m, but at frame {frames} it is at {metres:.1f} m")
        return game


def result_of(game: Replay) -> tuple[str, float]:
    """Outcome, `stopped` for a game that has not ended, and the score in metres."""
    outcome = outcome_of(game.events[-1]) if game.events[-1, ENDED] else "stopped"
    return outcome, float(game.events[-1, SCORE])


def check_bits(game: Replay) -> NDArray[np.uint8]:
    """Four bits of a running hash of all states for each frame, uint8 [n]."""
    words = np.ascontiguousarray(game.states, "<f8").reshape(len(game.states), -1).view("<u4")
    found, hashed = [], 0x811C9DC5
    for row in words:
        for word in row.tolist():
            hashed = (hashed ^ word) * 0x01000193 & 0xFFFFFFFF
            hashed ^= hashed >> 15
        found.append(hashed >> 28)
    return np.array(found[1:], np.uint8)


def first_difference(bits: NDArray[np.uint8], game: Replay) -> int | None:
    """First frame of a game, from 1, whose check bits are others; None if all are the same as far as both go."""
    own = check_bits(game)
    count = min(len(bits), len(own))
    differ = bits[:count] != own[:count]
    return int(np.argmax(differ)) + 1 if differ.any() else None


def _byte(content: Iterator[int]) -> int:
    found = next(content, None)
    if found is None:
        raise BadInput("the game is cut off")
    return found


def _read(content: Iterator[int]) -> int:
    value, unit = 0, 1
    while (byte := _byte(content)) >= 128:
        value, unit = value + byte % 128 * unit, unit * 128
        if unit > 2**28:
            raise BadInput("the game is damaged")
    return value + byte * unit
