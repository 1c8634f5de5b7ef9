"""The demonstrations that come with the package: games of a policy that this project trained."""

from pathlib import Path

from ..common.errors import BadInput
from .writer import DESCRIPTION


def embedded_dataset() -> Path:
    """The folder of the embedded dataset, for `open_dataset`; BadInput where the installation has none."""
    folder = Path(__file__).parent / "embedded_games"
    if not (folder / DESCRIPTION).is_file():
        raise BadInput(f"{folder}: the embedded demonstrations are missing; install qwop again, or name a dataset")
    return folder
