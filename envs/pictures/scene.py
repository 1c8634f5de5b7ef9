"""The scene for pages: shapes and tiles from which `static/scene.js` draws a game in the browser."""

import io
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..names import GROUND_Y
from . import backdrop
from .backdrop import Backdrop
from .figure import EDGE, HURDLE, RUNNER, Shape
from .frame_rows import POSE, ROW

SCRIPTS = Path(__file__).parent / "static"
"""Folder of the scripts that pages share."""

PAGE_RESOLUTION = 40.0
"""Pixels per unit of a page's tiles; enough for a view 1,000 pixels high."""


class Scene:
    """Shapes of the runner and tiles of the background, for a number of pixels per unit of the game."""

    def __init__(self, pixels_per_unit: float) -> None:
        self.pixels_per_unit = pixels_per_unit

    def to_json(self) -> dict[str, object]:
        """Data that `Scene` of `scene.js` needs in addition to the tiles."""
        return {
            "row": ROW,
            "pose": POSE,
            "edge": EDGE,
            "runner": [_shape(shape) for shape in RUNNER],
            "hurdle": [_shape(shape) for shape in HURDLE],
            "pixels_per_unit": self.pixels_per_unit,
            "units_high": backdrop.UNITS_HIGH,
            "ground_y": GROUND_Y,
            "ground_at": backdrop.GROUND_AT,
            "grass_above": backdrop.GRASS_ABOVE,
            "track_above": backdrop.TRACK_ABOVE,
            "finish_x": backdrop.FINISH_X,
            "metre": backdrop.METRE,
            "slant": backdrop.SLANT,
            "sky": [_css(backdrop.SKY_TOP), _css(backdrop.SKY_LOW)],
            "line": _css(backdrop.LINE),
            "strips": [
                {"tile": f"strip-{number}.png", "share": strip.share}
                for number, strip in enumerate(self._backdrop.strips)
            ],
        }

    @cached_property
    def tiles(self) -> dict[str, bytes]:
        """Pictures (PNG) by their names."""
        images = {f"strip-{number}.png": strip.image for number, strip in enumerate(self._backdrop.strips)}
        images |= {
            "lane.png": self._backdrop.lane,
            "sand.png": self._backdrop.sand,
            "finish.png": self._backdrop.finish,
        }
        tiles = {}
        for name, image in images.items():
            file = io.BytesIO()
            image.save(file, "PNG", compress_level=4)
            tiles[name] = file.getvalue()
        return tiles

    @cached_property
    def _backdrop(self) -> Backdrop:
        return Backdrop(self.pixels_per_unit)


def _css(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _shape(shape: Shape) -> dict[str, Any]:
    return {
        "body": shape.body,
        "points": np.round(shape.points, 4).tolist(),
        "fill": _css(shape.fill),
        "edge": None if shape.edge is None else _css(shape.edge),
    }
