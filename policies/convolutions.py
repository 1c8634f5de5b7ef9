"""The setting that names the convolutions of a new network for pictures."""

from typing import Any

from ..common.settings import setting
from .sizes import CONVOLUTIONS, NATURE


def convolutions() -> Any:
    """Declare the setting."""
    return setting(
        NATURE,
        "Convolutions of a new network for images: nature, those of Mnih et al. 2015; nips, the smaller ones of Mnih "
        "et al. 2013, twice as fast; fine, with small strides, for pictures of about 36 pixels.",
        choices=[*CONVOLUTIONS],
    )
