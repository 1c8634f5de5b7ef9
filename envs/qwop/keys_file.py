"""A game's keys as readable text: one line per stretch of frames with the same keys down."""

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
from .packed_game import PackedGame
from .session import checked_keys

LETTERS = {name.upper(): bit for name, bit in KEY_BITS.items()}
NO_KEY = "-"
PACKED = "# game:"
"""Beginning of the comment with the game as one word."""

LARGEST_FILE = 8 * MEGABYTE
"""Bytes of a file of keys; one of a minute has a few thousand."""

_LINE = re.compile(r"([0-9]{1,7})\s+(-|[QWOP]{1,4})")


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
    """Read the keys of each frame, uint8 [n], for `replay`; BadInput if the file does not hold keys, or if it says how
    its game plays and that is not so.
    """
    return read_game(path)[0]


def read_game(path: str | os.PathLike[str]) -> tuple[NDArray[np.uint8], PackedGame | None]:
    """Read keys like `read_keys`, with its errors, and what the file says of their game, if it does."""
    path = named_path(path, "keys file")
    return game_of(read_lines(path), path)


def game_of(lines: Sequence[str], path: Path) -> tuple[NDArray[np.uint8], PackedGame | None]:
    """The game of a file's lines, like `read_game`. path: named in errors."""
    frames: list[int] = []
    pressed: list[int] = []
    for number, line in enumerate(lines, 1):
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
    text = next((line.removeprefix(PACKED).strip() for line in lines if line.startswith(PACKED)), None)
    if text is None:
        return keys, None
    try:
        packed = PackedGame.from_text(text)
        if not np.array_equal(packed.keys, keys):
            raise BadInput("its keys were changed: they are not those of its line '# game: …'")
        packed.replay()
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    return keys, packed


def read_lines(path: Path) -> list[str]:
    """Read the lines of a file of keys, whatever ends them."""
    return read_text(path, LARGEST_FILE, "expected a file of keys, such as best_keys.txt of qwop-evaluate").splitlines()


def _letters(pressed: int) -> str:
    return "".join(letter for letter, bit in LETTERS.items() if pressed & bit) or NO_KEY
