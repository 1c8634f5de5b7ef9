"""The champion, which ships with the package: the fastest policy of this project, and the keys of its best game."""

import os
from pathlib import Path

from ..common.errors import BadInput
from ..common.files import named_path

CHAMPION = "champion"
"""Name of the champion, accepted wherever a policy file or a file of keys is."""


def policy_path(name: str | os.PathLike[str]) -> Path:
    """Path of a policy file: the shipped one for `champion`, else the path given. Raises BadInput if both exist."""
    return _path(name, "champion.safetensors", "policy's file")


def keys_path(name: str | os.PathLike[str]) -> Path:
    """Path of a file of keys, by the same rules."""
    return _path(name, "champion_keys.txt", "keys file")


def _path(name: str | os.PathLike[str], shipped: str, kind: str) -> Path:
    if os.fspath(name) != CHAMPION:
        return named_path(name, kind)
    if Path(CHAMPION).is_file():
        raise BadInput(
            f"{CHAMPION}: means the one that ships with the package, but there is a file of that name here; "
            f"write ./{CHAMPION} for the file, or rename it"
        )
    path = Path(__file__).parent / shipped
    if not path.is_file():
        raise BadInput(f"{path}: missing; reinstall qwop")
    return path
