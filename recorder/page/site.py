"""Answers to the page's GET requests: the page itself, the scene, the list of games, and their frames."""

import io
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...common.errors import BadInput
from ...envs.pictures import backdrop
from ...envs.pictures.backdrop import Backdrop
from ...envs.pictures.figure import EDGE, HURDLE, RUNNER, Shape
from .library import Library
from .rows import POSE, ROW, rows_of_game

STATIC = Path(__file__).parent / "static"

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".bin": "application/octet-stream",
}

PIXELS_PER_UNIT = 40.0
"""Resolution of the tiles; enough for a view 1,000 pixels high."""


@dataclass(frozen=True)
class Answer:
    """Body and content type of a response."""

    content: bytes
    kind: str


class Site:
    """Everything that can be fetched, by its path relative to the page's address ('' is the page)."""

    def __init__(self, library: Library, settings: dict[str, Any]) -> None:
        self._library = library
        self._settings = settings

    def answer(self, path: str) -> Answer | None:
        """Find the answer to a path; None if there is none."""
        match path.split("/"):
            case [""]:
                return self._static("index.html")
            case ["settings.json"]:
                return _json(self._settings)
            case ["scene.json"]:
                return _json(self._scene)
            case ["games.json"]:
                return _json(self._library.to_json())
            case ["games", collection, name] if name.endswith(".bin"):
                try:
                    rows = rows_of_game(self._library.keys(collection, name.removesuffix(".bin")))
                except (KeyError, BadInput, OSError):
                    return None
                return Answer(rows.tobytes(), TYPES[".bin"])
            case ["tiles", name]:
                content = self._tiles.get(name)
                return None if content is None else Answer(content, TYPES[".png"])
            case [name]:
                return self._static(name)
        return None

    def _static(self, name: str) -> Answer | None:
        # Looked up among the files that there are, so that no name leads out of the folder.
        file = {file.name: file for file in STATIC.iterdir() if file.suffix in TYPES}.get(name)
        return None if file is None else Answer(file.read_bytes(), TYPES[file.suffix])

    @cached_property
    def _scene(self) -> dict[str, Any]:
        return {
            "row": ROW,
            "pose": POSE,
            "edge": EDGE,
            "runner": [_shape(shape) for shape in RUNNER],
            "hurdle": [_shape(shape) for shape in HURDLE],
            "pixels_per_unit": PIXELS_PER_UNIT,
            "units_high": backdrop.UNITS_HIGH,
            "ground_y": backdrop.GROUND_Y,
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
    def _backdrop(self) -> Backdrop:
        return Backdrop(PIXELS_PER_UNIT)

    @cached_property
    def _tiles(self) -> dict[str, bytes]:
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


def _json(document: Any) -> Answer:
    return Answer(json.dumps(document, allow_nan=False).encode(), TYPES[".json"])


def _css(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _shape(shape: Shape) -> dict[str, Any]:
    return {
        "body": shape.body,
        "points": np.round(shape.points, 4).tolist(),
        "fill": _css(shape.fill),
        "edge": None if shape.edge is None else _css(shape.edge),
    }
