"""A game as one word of text, as links and files of the page of `qwop-play` have it (`play/static/packed.js`).

    1.fell.100.303.20783.YWRh.KFA1….d3f3…

A version, the outcome, the pace in percent, tenths of metres, the day, then in Base64 the player's name and the keys, a
byte for up to 16 frames with the same keys (16 · keys + frames − 1), and last the SHA-256 of all states.
"""

import base64
import binascii
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ..names import ENDED, LONGEST_KEYS, SCORE
from .session import GameStart, Replay
from .task import outcome_of

OUTCOMES = ("stopped", "finished", "fell")
TEMPOS = (1.0, 0.75, 0.5, 0.25)

LONGEST_NAME = 40
"""Bytes."""

_FORM = re.compile(
    rf"1\.({'|'.join(OUTCOMES)})\.(100|75|50|25)\.(-?[0-9]{{1,6}})\.([0-9]{{1,9}})"
    r"\.([A-Za-z0-9_-]{0,64})\.([A-Za-z0-9_-]+)\.([0-9a-f]{64})"
)


@dataclass(frozen=True)
class PackedGame:
    """A game and the result that it claims.

    keys: uint8 [n]. metres: the score. name: of the player. day: since 1 January 1970, by the player's calendar.
    sha256: of all states. tempo: pace at which a person played.
    """

    keys: NDArray[np.uint8]
    outcome: str
    metres: float
    name: str
    day: int
    sha256: str
    tempo: float = 1.0

    @classmethod
    def from_text(cls, text: str) -> "PackedGame":
        """Read the claims of a text; BadInput for anything else. `replay` checks them."""
        match = _FORM.fullmatch(text)
        try:
            name, runs = map(_bytes_of, match.groups()[4:6]) if match else (b"", b"")
        except (binascii.Error, ValueError):
            runs = b""
        codes = np.frombuffer(runs[: LONGEST_KEYS + 1], np.uint8)
        keys = np.repeat(codes >> 4, (codes & 15).astype(np.int64) + 1)
        if match is None or not 1 <= len(keys) <= LONGEST_KEYS:
            raise BadInput("the game is cut off, or not one of this page")
        outcome, percent, tenths, day, _, _, sha256 = match.groups()
        player = name[:LONGEST_NAME].decode(errors="replace").strip() or "somebody"
        return cls(keys, outcome, int(tenths) / 10, player, int(day), sha256, int(percent) / 100)

    def replay(self) -> Replay:
        """Play the game. BadInput if the replay differs from its claims."""
        game = GameStart().session().play(self.keys)
        frames = len(game.states) - 1
        if frames < len(self.keys):
            raise BadInput(f"the game ends at frame {frames}, before its keys do")
        outcome, metres = result_of(game)
        if game.sha256 != self.sha256:
            raise BadInput("the game does not play as it says: its states have another SHA-256")
        if (outcome, round(10 * metres)) != (self.outcome, round(10 * self.metres)):
            claim = f"{self.outcome!r} at {self.metres:.1f} m"
            raise BadInput(f"the game says {claim}, but at frame {frames} it is {outcome!r} at {metres:.1f} m")
        return game


def result_of(game: Replay) -> tuple[str, float]:
    """Outcome, `stopped` for a game that has not ended, and the score in metres."""
    outcome = outcome_of(game.events[-1]) if game.events[-1, ENDED] else "stopped"
    return outcome, float(game.events[-1, SCORE])


def _bytes_of(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
