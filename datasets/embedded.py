"""The datasets that ship with the package: games of a policy that this project trained, and an amateur's falls."""

import os
from pathlib import Path

from ..common.errors import BadInput
from ..common.files import named_path
from ..common.schema import nearest

CHAMPION, AMATEUR = "champion", "amateur"
"""Names of the embedded datasets, which `open_dataset` accepts in place of a folder."""

FOLDERS = {player: f"{player}_games" for player in (CHAMPION, AMATEUR)}


def embedded_dataset(player: str = CHAMPION) -> Path:
    """Folder of the embedded dataset of this player: champion, or amateur, whose games all fall.

    Raises BadInput for another name, and if this installation lacks the games.
    """
    if player not in FOLDERS:
        raise BadInput(f"{player}: no embedded dataset; expected {' or '.join(FOLDERS)}")
    folder = Path(__file__).parent / FOLDERS[player]
    if not folder.is_dir():
        raise BadInput(f"{folder}: the embedded games are missing; reinstall qwop, or name another dataset")
    return folder


def dataset_path(name: str | os.PathLike[str]) -> Path:
    """Path of a dataset: the embedded one of that name, a text, else the folder given. BadInput if both exist."""
    if not isinstance(name, str) or name not in FOLDERS:
        path = named_path(name, "dataset's folder")
        if not path.exists() and (meant := nearest(str(name), FOLDERS)):
            raise BadInput(f"{name}: no such folder; did you mean {meant}, whose games ship with the package?")
        return path
    if Path(name).is_dir():
        raise BadInput(
            f"{name}: means the games that ship with the package, but there is a folder of that name here; "
            f"write ./{name} for the folder, or rename it"
        )
    return embedded_dataset(name)
