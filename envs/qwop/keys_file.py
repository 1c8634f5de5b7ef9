"""A game's keys as readable text: one line per stretch of frames with the same keys down."""

import os
import re
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common.errors import BadInput
from ...common.files import write_atomic
from ...common.reading import MEGABYTE, read_text
from ..names import KEY_O, KEY_P, KEY_Q, KEY_W, LONGEST_KEYS

LETTERS = {"Q": KEY_Q, "W": KEY_W, "O": KEY_O, "P": KEY_P}
NO_KEY = "-"

LARGEST_FILE = 8 * MEGABYTE
"""Bytes of a file of keys; one of a minute has a few thousand."""

_LINE = re.compile(r"([0-9]{1,7})\s+(-|[QWOP]{1,4})")


def write_keys(path: str | os.PathLike[str], keys: ArrayLike, title: str) -> Path:
    """Write the keys of each frame, uint8 [n], under a title of one line; the file appears whole or not at all."""
    lines = [
        f"# {title}",
        "# Frames (30 a second) and the keys that are down in them; - is none. From the first reset of the page on.",
        *(f"{len(list(group))} {_letters(pressed)}" for pressed, group in groupby(np.asarray(keys).tolist())),
    ]
    return write_atomic(Path(path), "\n".join(lines) + "\n")


def read_keys(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read the keys of each frame, uint8 [n], for `replay`; BadInput if the file does not hold keys."""
    path = Path(path)
    text = read_text(path, LARGEST_FILE, "expected a file of keys, such as best_keys.txt of qwop-evaluate")
    lines = text.splitlines()
    frames: list[int] = []
    pressed: list[int] = []
    for number, line in enumerate(lines, 1):
        said = line.split("#")[0].strip()
        if not said:
            continue
        found = _LINE.fullmatch(said.upper())
        if found is None:
            raise BadInput(f"{path}, line {number}: {said[:40]!a}; expected frames and keys, such as '12 QP' or '3 -'")
        frames.append(int(found[1]))
        pressed.append(sum(bit for letter, bit in LETTERS.items() if letter in found[2]))
    if not 0 < sum(frames) <= LONGEST_KEYS:
        raise BadInput(f"{path}: {sum(frames):,} frames of keys; expected 1 to {LONGEST_KEYS:,}")
    return np.repeat(np.array(pressed, dtype=np.uint8), frames)


def _letters(pressed: int) -> str:
    return "".join(letter for letter, bit in LETTERS.items() if pressed & bit) or NO_KEY
