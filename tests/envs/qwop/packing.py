"""The writing of packed games, which the product leaves to the page (`play/static/packed.js`)."""

import base64
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from qwop.envs import replay
from qwop.envs.qwop.keys_file import write_keys
from qwop.envs.qwop.packed_game import LONGEST_NAME, OUTCOMES, TEMPOS, VERSION, PackedGame, check_bits, result_of


def pack(keys: Any, name: str, day: int) -> PackedGame:
    """Play the keys of a game, and describe it."""
    game = replay(keys)
    return PackedGame(keys[: len(game.states) - 1], check_bits(game), *result_of(game), name=name, day=day)


def text_of(game: PackedGame) -> str:
    """One word; the inverse of `PackedGame.from_text`."""
    tenths, name = round(10 * game.metres), game.name.encode()[:LONGEST_NAME]
    flags = OUTCOMES.index(game.outcome) + 4 * TEMPOS.index(game.tempo)
    signed = 2 * tenths if tenths >= 0 else -2 * tenths - 1
    found = bytearray()
    for number in (VERSION, flags, len(game.keys), signed, game.day, len(name)):
        found += _number(number)
    found += name
    for pressed, run in groupby(game.keys.tolist()):
        frames = len(list(run))
        found.append(min(frames, 16) - 1 + 16 * pressed)
        if frames >= 16:
            found += _number(frames - 16)
    paired = np.append(game.bits, np.zeros(len(game.bits) % 2, np.uint8))
    found += (paired[::2] | paired[1::2] << 4).astype(np.uint8).tobytes()
    return base64.urlsafe_b64encode(bytes(found)).decode().rstrip("=")


def write_packed(path: Path, keys: Any, packed: PackedGame) -> Path:
    """Write a file of keys with the packed game in a comment, as the page does."""
    title, about, *lines = write_keys(path, keys, "a game").read_text().splitlines()
    path.write_text("\n".join([title, about, f"# game: {text_of(packed)}", *lines, ""]))
    return path


def _number(value: int) -> bytes:
    found = bytearray()
    while value >= 128:
        found.append(128 | value % 128)
        value //= 128
    return bytes([*found, value])
