"""What ships with the package: the fastest runner of this project, and the keys of its best game."""

import os
from pathlib import Path

from ..common.errors import BadInput

CHAMPION = "champion"
"""The name that stands for it wherever a policy's file, or a file of keys, is asked for."""


def policy_path(name: str | os.PathLike[str]) -> Path:
    """The file that is meant: the one that ships for `champion`, else the path given."""
    return _path(name, "champion.safetensors")


def keys_path(name: str | os.PathLike[str]) -> Path:
    """The same for a file of keys."""
    return _path(name, "champion_keys.txt")


def _path(name: str | os.PathLike[str], shipped: str) -> Path:
    if os.fspath(name) != CHAMPION:
        return Path(name)
    if Path(CHAMPION).is_file():
        raise BadInput(
            f"{CHAMPION}: what ships with the package, or the file of that name here? say ./{CHAMPION} for it"
        )
    path = Path(__file__).parent / shipped
    if not path.is_file():
        raise BadInput(f"{path}: is missing; install qwop again")
    return path
