"""Validation shared by the sources in which a person plays."""

from pathlib import Path

from ..common.errors import BadInput
from ..datasets.folder import require_same
from ..datasets.from_keys import qwop_info
from ..datasets.schema import DatasetInfo
from .settings import PersonSettings

LONGEST_NAME = 100
"""Characters of a player's name."""


def require_name(name: object, said: str) -> str:
    """The name, which is a text of 1 to `LONGEST_NAME` characters. BadInput that begins with what was `said`."""
    if not isinstance(name, str) or not name:
        raise BadInput(f"{said} is empty, expected from 1 to {LONGEST_NAME} characters")
    if len(name) > LONGEST_NAME:
        raise BadInput(f"{said} has {len(name)} characters, expected from 1 to {LONGEST_NAME}")
    return name


def info_for(settings: PersonSettings, folder: Path) -> DatasetInfo:
    """Describe the dataset of a person's games before any is played.

    Raises BadInput for invalid settings, and if `folder` already holds a dataset with other settings.
    """
    info = qwop_info(
        frames_per_step=settings.frames_per_step, reward=settings.reward, observation_lag=settings.observation_lag
    )
    require_same(folder, info)
    return info
