"""The demonstrations that ship with the package: games of a policy that this project trained."""

from pathlib import Path

from ..common.errors import BadInput
from .folder import DESCRIPTION


def embedded_dataset() -> Path:
    """Folder of the embedded dataset, for `open_dataset`; BadInput if this installation lacks it."""
    folder = Path(__file__).parent / "embedded_games"
    if not (folder / DESCRIPTION).is_file():
        raise BadInput(f"{folder}: the embedded demonstrations are missing; reinstall qwop, or name another dataset")
    return folder
