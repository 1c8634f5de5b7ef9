"""The setting that names the convolutions of a new network for pictures."""

from typing import Any

from ..common.settings import setting
from .encoders import CONVOLUTIONS, NATURE


def convolutions() -> Any:
    """Declare the setting."""
    return setting(
        NATURE,
        "Convolutions of a new network for images: nature, those of Mnih et al. 2015, or nips, the smaller ones of "
        "Mnih et al. 2013, nearly three times as fast.",
        choices=[*CONVOLUTIONS],
    )
