"""A game's keys as readable text: one line per stretch of frames with the same keys down.

The page of `qwop-play` writes more about the game into comments (`play/static/keys_file.js`).
"""

import os
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common.errors import BadInput
from ...common.files import named_path, write_atomic
from ...common.reading import MEGABYTE, read_text
from ..names import KEY_BITS, LONGEST_KEYS
from .session import checked_keys, replay

LETTERS = {name.upper(): bit for name, bit in KEY_BITS.items()}
NO_KEY = "-"

LARGEST_FILE = 8 * MEGABYTE
"""Bytes of a file of keys; one of a minute has a few thousand."""

_LINE = re.compile(r"([0-9]{1,7})\s+(-|[QWOP]{1,4})")
_CLAIM = re.compile(r"# (player|sha256):\s*(.*?)\s*")
_LONGEST_NAME = 40


def write_keys(path: str | os.PathLike[str], keys: ArrayLike, title: str) -> Path:
    """Write the keys of each frame, uint8 [n], under a title (in one line); the file appears whole or not at all.

    Raises BadInput for anything but keys.
    """
    lines = [
        f"# {' '.join(title.splitlines())}",
        "# Frames (30 a second) and the keys that are down in them; - is none. From the first reset of the page on.",
        *(f"{len(list(group))} {_letters(pressed)}" for pressed, group in groupby(checked_keys(keys).tolist())),
    ]
    return write_atomic(named_path(path, "keys file"), "\n".join(lines) + "\n")


def read_keys(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read the keys of each frame, uint8 [n], for `replay`.

    BadInput if the file does not hold keys, or if it has the SHA-256 of its game's states (`Replay.sha256`) and the
    game has others.
    """
    path = named_path(path, "keys file")
    return game_of(read_lines(path), path)[0]


def game_of(lines: Sequence[str], path: Path) -> tuple[NDArray[np.uint8], str | None]:
    """The keys of a file's lines, with the errors of `read_keys`, and their player, if a line names one. path: named in
    errors."""
    claims: dict[str, str] = {}
    frames: list[int] = []
    pressed: list[int] = []
    for number, line in enumerate(lines, 1):
        if (claim := _CLAIM.fullmatch(line)) is not None:
            claims[claim[1]] = claim[2]
        content = line.split("#")[0].strip()
        if not content:
            continue
        match = _LINE.fullmatch(content.upper())
        if match is None:
            place = f"{path}, line {number}: {content[:40]!a}"
            raise BadInput(f"{place}; expected frames and keys, such as '12 QP' or '3 -'")
        frames.append(int(match[1]))
        pressed.append(sum(bit for letter, bit in LETTERS.items() if letter in match[2]))
    if not 0 < sum(frames) <= LONGEST_KEYS:
        raise BadInput(f"{path}: {sum(frames):,} frames of keys; expected 1 to {LONGEST_KEYS:,}")
    keys = np.repeat(np.array(pressed, dtype=np.uint8), frames)
    if "sha256" in claims:
        game = replay(keys)
        if (played := len(game.states) - 1) < len(keys):
            raise BadInput(f"{path}: the game ends at frame {played}, before its keys do")
        if game.sha256 != claims["sha256"]:
            raise BadInput(f"{path}: the game does not play as it says: its states have another SHA-256")
    return keys, claims.get("player", "")[:_LONGEST_NAME].strip() or None


def read_lines(path: Path) -> list[str]:
    """Read the lines of a file of keys, whatever ends them."""
    return read_text(path, LARGEST_FILE, "expected a file of keys, such as best_keys.txt of qwop-evaluate").splitlines()


def _letters(pressed: int) -> str:
    return "".join(letter for letter, bit in LETTERS.items() if pressed & bit) or NO_KEY
