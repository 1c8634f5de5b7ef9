"""A game's keys as readable text: a line for each stretch of frames with the same keys down."""

import os
import re
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common.errors import BadInput
from ...common.files import write_whole
from ..names import KEY_O, KEY_P, KEY_Q, KEY_W

LETTERS = {"Q": KEY_Q, "W": KEY_W, "O": KEY_O, "P": KEY_P}
NO_KEY = "-"

LONGEST = 1_000_000
"""Frames of a game in a file, at most: nine hours."""

_LINE = re.compile(r"(\d{1,7})\s+(-|[QWOP]{1,4})")


def write_keys(path: str | os.PathLike[str], keys: ArrayLike, title: str) -> Path:
    """Write the keys of each frame, uint8 [n], under a title of one line; the file appears whole or not at all."""
    lines = [
        f"# {title}",
        "# Frames (30 a second) and the keys that are down in them; - is none. From the first reset of the page on.",
        *(f"{len(list(group))} {_letters(pressed)}" for pressed, group in groupby(np.asarray(keys).tolist())),
    ]
    return write_whole(Path(path), "\n".join(lines) + "\n")


def read_keys(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read the keys of each frame, uint8 [n], for `replay`; BadInput if the file does not hold keys."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = "no such file" if isinstance(error, FileNotFoundError) else "cannot be read as text"
        raise BadInput(f"{path}: {why}; expected a file of keys, such as best_keys.txt of qwop-evaluate") from None
    frames: list[int] = []
    pressed: list[int] = []
    for number, line in enumerate(lines, 1):
        said = line.split("#")[0].strip()
        if not said:
            continue
        found = _LINE.fullmatch(said.upper())
        if found is None:
            raise BadInput(f"{path}, line {number}: {said[:40]!r}; expected frames and keys, such as '12 QP' or '3 -'")
        frames.append(int(found[1]))
        pressed.append(sum(bit for letter, bit in LETTERS.items() if letter in found[2]))
    if not 0 < sum(frames) <= LONGEST:
        raise BadInput(f"{path}: {sum(frames):,} frames of keys; expected 1 to {LONGEST:,}")
    return np.repeat(np.array(pressed, dtype=np.uint8), frames)


def _letters(pressed: int) -> str:
    return "".join(letter for letter, bit in LETTERS.items() if pressed & bit) or NO_KEY
