"""The writing of packed games, which the product leaves to the page (`play/static/packed.js`)."""

import base64
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from qwop.envs import replay
from qwop.envs.qwop.keys_file import write_keys
from qwop.envs.qwop.packed_game import LONGEST_NAME, PackedGame, result_of


def pack(keys: Any, name: str, day: int) -> PackedGame:
    """Play the keys of a game, and describe it."""
    game = replay(keys)
    outcome, metres = result_of(game)
    return PackedGame(np.asarray(keys)[: len(game.states) - 1], outcome, metres, name, day, game.sha256)


def text_of(game: PackedGame) -> str:
    """One word; the inverse of `PackedGame.from_text`."""
    codes = bytearray()
    for pressed, run in groupby(game.keys.tolist()):
        for left in range(len(list(run)), 0, -16):
            codes.append(16 * pressed + min(left, 16) - 1)
    numbers = f"1.{game.outcome}.{round(100 * game.tempo)}.{round(10 * game.metres)}.{game.day}"
    return f"{numbers}.{_base64(game.name.encode()[:LONGEST_NAME])}.{_base64(codes)}.{game.sha256}"


def write_packed(path: Path, keys: Any, packed: PackedGame) -> Path:
    """Write a file of keys with the packed game in a comment, as the page does."""
    title, about, *lines = write_keys(path, keys, "a game").read_text().splitlines()
    path.write_text("\n".join([title, about, f"# game: {text_of(packed)}", *lines, ""]))
    return path


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
