"""Validation shared by the sources in which a person plays."""

from pathlib import Path

from ..datasets.folder import require_same
from ..datasets.from_keys import qwop_info
from ..datasets.schema import DatasetInfo
from .settings import PersonSettings


def info_for(settings: PersonSettings, folder: Path) -> DatasetInfo:
    """Describe the dataset of a person's games before any is played.

    Raises BadInput for invalid settings, and if `folder` already holds a dataset with other settings.
    """
    info = qwop_info(
        frames_per_step=settings.frames_per_step, reward=settings.reward, observation_lag=settings.observation_lag
    )
    require_same(folder, info)
    return info
