"""The scene as data: shapes of the runner and the hurdle, and tiles of what lies around them. All artwork is our own.

`tiles/scene.json` and the pictures beside it serve pictures and films here, and pages, which draw them by
`static/scene.js`, so that all show the same scene. Lengths are units of the game.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

SCRIPTS = Path(__file__).parent / "static"
"""Folder of the scripts that pages share."""

TILES = Path(__file__).parent / "tiles"

SCENE_FILE = TILES / "scene.json"

SCENE: dict[str, Any] = json.loads(SCENE_FILE.read_text())
"""The view and the background.

units_high: height of the view. ground_at: height of the ground in it, as a fraction of that. grass_above, track_above:
far edges of grass and track above the ground line. finish_x: the line past which a jump lands. slant: lean to the left
of a line across the track, for each unit down. sky: its colours at the top and the bottom. line: colour of lines on the
track. pixels_per_unit: of the tiles. strips: tiles, far to near, that stand on the far edge of the grass, each with the
fraction of the camera's motion that it follows. Three more tiles are a metre of grass and track (lane.png), a metre of
what lies behind the finish (sand.png), and the line across the track (finish.png).
"""


@dataclass(frozen=True)
class Shape:
    """A polygon in a body's own coordinates: points float64 [n, 2], about its centre, and its colours.

    outline: the polygon grown by the edge, float64 [m, 2]. Filled with the colour `edge` under the shape, it leaves the
    edge around it. None, as `edge` is, for a shape without an edge.
    """

    body: int
    points: NDArray[np.float64]
    fill: str
    edge: str | None
    outline: NDArray[np.float64] | None


def _shapes(name: str) -> tuple[Shape, ...]:
    shapes = []
    for row in SCENE[name]:
        outline = None if row["edge"] is None else np.array(row["outline"])
        shapes.append(Shape(row["body"], np.array(row["points"]), row["fill"], row["edge"], outline))
    return tuple(shapes)


RUNNER, HURDLE = _shapes("runner"), _shapes("hurdle")
"""The runner seen from his right, and the hurdle: the farthest shape first."""


def draw_shapes(
    draw: ImageDraw.ImageDraw,
    origin: tuple[float, float],
    scale: float,
    shapes: Sequence[Shape],
    state: NDArray[np.float64],
) -> None:
    """Draw the shapes, first to last, where a state [14, 6] has their bodies: pixel = (world − origin)·scale."""
    cosine, sine = np.cos(state[:, 2]), np.sin(state[:, 2])
    rotations = scale * np.array([[cosine, sine], [-sine, cosine]]).transpose(2, 0, 1)  # for row vectors
    centres = scale * (state[:, :2] - origin)
    for shape in shapes:
        rotation, centre = rotations[shape.body], centres[shape.body]
        for points, colour in ((shape.outline, shape.edge), (shape.points, shape.fill)):
            if points is not None:
                draw.polygon((points @ rotation + centre).ravel().tolist(), fill=colour)


def tile(name: str, scale: float) -> Image.Image:
    """Return a tile at `scale` pixels a unit."""
    with Image.open(TILES / name) as image:
        zoom = scale / SCENE["pixels_per_unit"]
        size = round(image.width * zoom), round(image.height * zoom)
        return image.resize(size, Image.Resampling.HAMMING)
