"""Pictures of a game, and the scene as data: shapes of the runner and the hurdle, and tiles of what lies around them.

`tiles/scene.json` and the pictures beside it serve pictures and films here, and pages, which draw them by
`static/scene.js`, so that all show the same scene. All artwork is our own. Lengths are units of the game.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw, ImageFont

from ..engine import layout as at
from ..engine.batch import LIFT_ABOVE
from ..names import GROUND_Y, KEY_BITS, UNITS_A_METRE

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


class Shape(NamedTuple):
    """A polygon in a body's own coordinates: points float64 [n, 2], about its centre, and its colours.

    outline: the polygon grown by the edge, float64 [m, 2]. Filled with the colour `edge` under the shape, it leaves the
    edge around it. None, as `edge` is, for a shape without an edge.
    """

    body: int
    points: NDArray[np.float64]
    fill: str
    edge: str | None
    outline: NDArray[np.float64] | None = None


def _shapes(name: str) -> tuple[Shape, ...]:
    return tuple(
        Shape(**row | {corners: np.array(row[corners]) for corners in ("points", "outline") if row.get(corners)})
        for row in SCENE[name]
    )


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


_LABEL_SIZE, _LABEL_BELOW = 1.15, 2.35
"""Of the metres' numbers, units: how large, and how far below the track's far edge."""


@cache
def _label(metre: int, scale: float) -> Image.Image:
    """The number of a metre, as a mask."""
    font = ImageFont.load_default(size=_LABEL_SIZE * scale)
    text = f"{metre} m"
    box = font.getbbox(text)
    label = Image.new("L", (int(box[2]) + 2, int(box[3]) + 2))
    ImageDraw.Draw(label).text((0, 0), text, fill=255, font=font)
    return label


_RUNNER_AT = 0.42
"""Place of the torso in the picture, as a fraction of its width."""

_REACH = np.zeros((at.MOVING, 1))
"""Distance from a body's centre that nothing drawn of it exceeds, units."""
for _shape in (*RUNNER, *HURDLE):
    _corners = _shape.points if _shape.outline is None else _shape.outline
    _REACH[_shape.body] = max(_REACH[_shape.body, 0], np.hypot(*_corners.T).max())

_SUPERSAMPLING = 3
_INK, _PAPER, _LIT, _LIT_EDGE = (36, 44, 60), (255, 255, 255), (255, 209, 70), (214, 150, 20)


class Drawing:
    """Draws states of the game, `width` by `height` pixels. It caches what does not move, so reuse it."""

    def __init__(self, width: int = 640, height: int = 400) -> None:
        self.width, self.height = width, height
        self._scale = scale = height / SCENE["units_high"]
        self._ground = round(height * SCENE["ground_at"])
        self._grass, self._track = (self._ground - round(SCENE[f"{name}_above"] * scale) for name in ("grass", "track"))
        self._strips = [(tile(strip["tile"], scale), strip["share"]) for strip in SCENE["strips"]]
        self._lane, self._sand, self._finish = (tile(f"{name}.png", scale) for name in ("lane", "sand", "finish"))
        share = (np.linspace(0, 1, height) ** 0.8)[:, None, None]
        top, low = map(np.array, map(ImageColor.getrgb, SCENE["sky"]))
        rows = top * (1 - share) + low * share
        self._sky = Image.fromarray(np.broadcast_to(rows, (height, width, 3)).round().astype(np.uint8))
        self._keys = {(name, lit): self._draw_key(name, lit) for name in "qwop" for lit in (False, True)}
        self._large, self._small = (ImageFont.load_default(size=size * scale) for size in (1.9, 1.15))
        wide, high = round(8.5 * scale), max(round(0.9 * scale), 2)
        x, y = np.meshgrid(np.linspace(-1, 1, wide), np.linspace(-1, 1, high))
        self._shadow = Image.fromarray((np.clip(1 - x**2 - y**2, 0, 1) * 110).astype(np.uint8))

    def picture(self, state: NDArray[np.float64], *, metres: float, seconds: float, keys: int = 0) -> NDArray[np.uint8]:
        """Return a state [14, 6] as RGB, uint8 [height, width, 3], with distance, time and the keys that are down."""
        torso_x, torso_y = float(state[at.TORSO, 0]), float(state[at.TORSO, 1])
        left = round(torso_x * self._scale - _RUNNER_AT * self.width)
        lift = round(max(LIFT_ABOVE - torso_y, 0.0) * self._scale)
        image = self._scenery(left, lift)
        origin = (left / self._scale, GROUND_Y - (self._ground + lift) / self._scale)
        x = round((torso_x - origin[0]) * self._scale) - self._shadow.width // 2
        y = round((GROUND_Y + 0.1 - origin[1]) * self._scale) - self._shadow.height // 2
        image.paste(_INK, (x, y), self._shadow)
        self._supersampled(image, state, slice(at.HURDLE_BASE, None), origin, HURDLE)
        self._supersampled(image, state, slice(at.HURDLE_BASE), origin, RUNNER)
        self._panel(image, metres, seconds, keys)
        return np.asarray(image)

    def _scenery(self, left: int, lift: int) -> Image.Image:
        """Draw what lies around, with the world's pixel `left` at the left edge, moved down by `lift` pixels."""
        picture = self._sky.copy()
        for image, share in self._strips:
            # One pixel lower than the grass begins, so that no sky shows between.
            self._repeat(picture, image, round(left * share), self._grass - image.height + round(lift * share) + 1, 0)
        self._repeat(picture, self._lane, left, self._grass + lift, 0)
        finish = round(SCENE["finish_x"] * self._scale) - left
        if finish < self.width + self._finish.width:
            track = self._track + lift
            self._repeat(picture, self._sand, left, track, max(finish, 0))
            corner = finish - round(SCENE["slant"] * self._finish.height)
            picture.paste(self._finish, (corner, track), self._finish)
        step = UNITS_A_METRE * self._scale
        y = self._track + lift + round(_LABEL_BELOW * self._scale)
        for metre in range(max(int(left // step), 0), min(int((left + self.width) // step) + 1, 100) + 1):
            label = _label(metre, self._scale)
            mark = round(metre * step - SCENE["slant"] * 3.2 * self._scale) - left
            # The finish line takes the place of half the last number.
            picture.paste(SCENE["line"], (mark - label.width // (1 if metre == 100 else 2), y), label)
        return picture

    def _repeat(self, picture: Image.Image, tile: Image.Image, left: int, top: int, start: int) -> None:
        """Repeat the tile from pixel `start` to the right edge."""
        for x in range(start - (left + start) % tile.width, self.width, tile.width):
            hidden = start - x if x < start and start else 0  # the picture's own edge hides without help
            part = tile.crop((hidden, 0, tile.width, tile.height)) if hidden else tile
            picture.paste(part, (x + hidden, top), part if tile.mode == "RGBA" else None)

    def _supersampled(
        self,
        image: Image.Image,
        state: NDArray[np.float64],
        bodies: slice,
        origin: tuple[float, float],
        shapes: Sequence[Shape],
    ) -> None:
        """Draw these bodies with antialiasing: enlarge their part of the picture, draw, and shrink it again."""
        centres, around = state[bodies, :2], _REACH[bodies]
        low = np.floor(((centres - around).min(axis=0) - origin) * self._scale).astype(int)
        high = np.ceil(((centres + around).max(axis=0) - origin) * self._scale).astype(int)
        left, top = np.maximum(low, 0).tolist()
        right, bottom = np.minimum(high, (self.width, self.height)).tolist()
        if left >= right or top >= bottom:
            return
        patch = image.crop((left, top, right, bottom))
        patch = patch.resize((patch.width * _SUPERSAMPLING, patch.height * _SUPERSAMPLING), Image.Resampling.NEAREST)
        corner = (origin[0] + left / self._scale, origin[1] + top / self._scale)
        draw_shapes(ImageDraw.Draw(patch), corner, self._scale * _SUPERSAMPLING, shapes, state)
        image.paste(patch.reduce(_SUPERSAMPLING), (left, top))

    def _panel(self, image: Image.Image, metres: float, seconds: float, keys: int) -> None:
        draw = ImageDraw.Draw(image)
        middle, unit = self.width / 2, self._scale
        for text, y, font in ((f"{metres:.1f} m", 0.7, self._large), (f"{seconds:.2f} s", 3.1, self._small)):
            draw.text((middle, y * unit), text, fill=_INK, font=font, anchor="ma", stroke_width=2, stroke_fill=_PAPER)
        side = self._keys["q", False].width
        gap = side // 6
        edge = side // 3
        right = self.width - edge - 2 * side - gap
        for name, x in {"q": edge, "w": edge + side + gap, "o": right, "p": right + side + gap}.items():
            cap = self._keys[name, bool(keys & KEY_BITS[name])]
            image.paste(cap, (x, edge), cap)

    def _draw_key(self, name: str, lit: bool) -> Image.Image:
        """Draw a key cap; a pressed one sits lower and is lit."""
        unit = self._scale * 4
        image = Image.new("RGBA", (round(2.7 * unit), round(2.9 * unit)))
        draw = ImageDraw.Draw(image)
        top = 0.25 * unit if lit else 0.0
        fill, edge = (_LIT, _LIT_EDGE) if lit else (_PAPER, (158, 168, 186))
        draw.rounded_rectangle((0, top + 0.25 * unit, 2.65 * unit, 2.85 * unit), 0.55 * unit, fill=edge)
        draw.rounded_rectangle(
            (0, top, 2.65 * unit, 2.45 * unit + top / 2), 0.55 * unit, fill=fill, outline=edge, width=round(0.1 * unit)
        )
        font = ImageFont.load_default(size=1.5 * unit)
        draw.text((1.32 * unit, 1.25 * unit + top * 0.75), name.upper(), fill=_INK, font=font, anchor="mm")
        return image.reduce(4)
