"""The tiles that the scene is made of: clouds, hills, trees, a hedge, the track, the finish.

Images shared by pictures and films here and by the recorder's page in a browser, so that all show the same scene.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

Colour = tuple[int, int, int]

UNITS_HIGH = 25.0
"""Height of the view, units (2.5 m)."""

GROUND_AT = 0.83
"""Height of the ground in the view, as a fraction of the view's height."""

GRASS_ABOVE, TRACK_ABOVE = 1.7, 0.75
"""Far edges of the grass and of the track in the picture, units above the ground line."""

FINISH_X = 1000.0
"""Past this line a jump lands, units."""

METRE = 10
"""Units."""

SLANT = 0.45
"""Lean to the left of a line across the track, for each unit down."""

SKY_TOP, SKY_LOW = (112, 188, 238), (232, 246, 252)
LINE = (250, 240, 232)
_CLOUD, _FAR_HILLS, _NEAR_HILLS = (255, 255, 255), (171, 207, 205), (137, 190, 160)
_TREES, _HEDGE, _HEDGE_EDGE = (88, 150, 104), (70, 128, 84), (54, 104, 70)
_GRASS, _TRACK, _TRACK_NEAR, _TICK = (126, 186, 92), (203, 96, 72), (190, 86, 64), (236, 188, 170)
_SAND, _SAND_DARK = (236, 214, 160), (220, 194, 136)
_WHITE, _BLACK = (250, 250, 250), (40, 40, 44)

_SUPERSAMPLING = 3
_BELOW_GRASS = UNITS_HIGH * (1 - GROUND_AT) + GRASS_ABOVE
_BELOW_TRACK = UNITS_HIGH * (1 - GROUND_AT) + TRACK_ABOVE


@dataclass(frozen=True)
class Strip:
    """A tile repeated from left to right behind the track, and the fraction of the camera's motion that it follows."""

    image: Image.Image
    share: float


class Backdrop:
    """The tiles at `scale` pixels a unit.

    strips: far to near; they stand on the far edge of the grass. lane: a metre of grass and track, from that edge down.
    sand: a metre of what lies behind the finish, from the track's far edge down. finish: the line across the track,
    whose top left corner is where it starts; left of it transparent, right of it sand.
    """

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.strips = (
            Strip(self._clouds(), 0.04),
            Strip(self._hills(_FAR_HILLS, 5.2, 1.6, 3), 0.08),
            Strip(self._hills(_NEAR_HILLS, 3.4, 1.1, 5), 0.15),
            Strip(self._trees(), 0.3),
            Strip(self._hedge(), 0.6),
        )
        self.lane = self._lane()
        self.sand = self._sand()
        self.finish = self._finish()

    def _blank(self, wide: float, high: float, mode: str = "RGBA") -> tuple[Image.Image, ImageDraw.ImageDraw, float]:
        """Return an enlarged image of a size in units, its drawing context and its pixels per unit."""
        size = (round(wide * self.scale) * _SUPERSAMPLING, round(high * self.scale) * _SUPERSAMPLING)
        image = Image.new(mode, size)
        return image, ImageDraw.Draw(image), self.scale * _SUPERSAMPLING

    def _clouds(self) -> Image.Image:
        image, draw, unit = self._blank(90.0, 19.0)
        puffs = ((-2.2, 0.3, 0.9), (-1.0, -0.3, 1.2), (0.4, -0.6, 1.5), (1.7, -0.1, 1.1), (2.7, 0.35, 0.8))
        for x, y, size in ((8, 3.2, 1.2), (30, 6.4, 0.8), (49, 2.2, 1.0), (66, 5.2, 1.3), (81, 7.8, 0.6)):
            for dx, dy, radius in puffs:
                cx, cy, r = (x + dx * size) * unit, (y + dy * size) * unit, radius * size * unit
                draw.ellipse((cx - r, cy - 0.72 * r, cx + r, cy + 0.72 * r), fill=(*_CLOUD, 225))
            under = ((x - 3.4 * size) * unit, (y + 0.75 * size) * unit)
            draw.rectangle((*under, (x + 3.8 * size) * unit, (y + 1.3 * size) * unit), fill=(0, 0, 0, 0))
        return image.reduce(_SUPERSAMPLING)

    def _hills(self, colour: Colour, high: float, swing: float, waves: int) -> Image.Image:
        image, draw, unit = self._blank(60.0, high + swing + 0.5)
        turn = np.linspace(0, 2 * np.pi, 241)
        ridge = high + swing * (0.6 * np.sin(waves * turn + 1) + 0.4 * np.sin((2 * waves + 1) * turn))
        xs = np.linspace(0, image.width, len(turn))
        points = [(x, image.height - y * unit) for x, y in zip(xs, ridge, strict=True)]
        draw.polygon([(0, image.height), *points, (image.width, image.height)], fill=colour)
        return image.reduce(_SUPERSAMPLING)

    def _trees(self) -> Image.Image:
        wide = 60
        image, draw, unit = self._blank(wide, 4.0)
        generator = np.random.default_rng(7)
        for place in np.arange(0, wide, 1.3):
            radius, height = generator.uniform(0.8, 1.5), generator.uniform(0.9, 2.2)
            shade = tuple(int(part * generator.uniform(0.93, 1.07)) for part in _TREES)
            for x in (place - wide, place, place + wide):  # the tile joins itself
                left, right, middle = (x - radius) * unit, (x + radius) * unit, image.height - height * unit
                draw.ellipse((left, middle - radius * unit, right, middle + 1.4 * radius * unit), fill=shade)
                draw.rectangle((left, middle, right, image.height), fill=shade)
        return image.reduce(_SUPERSAMPLING)

    def _hedge(self) -> Image.Image:
        wide = 60
        image, draw, unit = self._blank(wide, 1.5)
        draw.rectangle((0, 0.45 * unit, image.width, image.height), fill=_HEDGE)
        for x in range(0, wide, 2):
            draw.ellipse(((x - 0.2) * unit, 0.1 * unit, (x + 2.2) * unit, 1.3 * unit), fill=_HEDGE)
        draw.rectangle((0, image.height - 0.3 * unit, image.width, image.height), fill=_HEDGE_EDGE)
        return image.reduce(_SUPERSAMPLING)

    def _lane(self) -> Image.Image:
        image, draw, unit = self._blank(METRE, _BELOW_GRASS, "RGB")
        top = (GRASS_ABOVE - TRACK_ABOVE) * unit
        draw.rectangle((0, 0, image.width, top), fill=_GRASS)
        draw.rectangle((0, top, image.width, image.height), fill=_TRACK)
        draw.rectangle((0, top + 2.15 * unit, image.width, image.height), fill=_TRACK_NEAR)
        for down, thick in ((0.0, 0.14), (2.15, 0.2)):
            draw.rectangle((0, top + down * unit, image.width, top + (down + thick) * unit), fill=LINE)
        for tenth in range(10):
            long = tenth == 0
            down, fill, width = (2.15 * unit, LINE, 0.16) if long else (0.45 * unit, _TICK, 0.09)
            for x in (tenth / 10 * image.width, (1 + tenth / 10) * image.width):  # the tile joins itself
                draw.line((x, top, x - SLANT * down, top + down), fill=fill, width=max(round(width * unit), 1))
        return image.reduce(_SUPERSAMPLING)

    def _sand(self) -> Image.Image:
        image, draw, unit = self._blank(METRE, _BELOW_TRACK, "RGB")
        draw.rectangle((0, 0, image.width, image.height), fill=_SAND)
        for row in range(3):
            y = (row + 1) / 4 * image.height
            for x in np.arange(row * 0.55, METRE, 1.25):
                draw.line((x * unit, y, (x + 0.5) * unit, y), fill=_SAND_DARK, width=max(round(unit / 8), 1))
        return image.reduce(_SUPERSAMPLING)

    def _finish(self) -> Image.Image:
        lean = SLANT * _BELOW_TRACK
        image, draw, unit = self._blank(lean + 2, _BELOW_TRACK)
        side, shift = _BELOW_TRACK / 6, lean * unit
        corners = [(shift, 0), (image.width, 0), (image.width, image.height), (0, image.height)]
        draw.polygon(corners, fill=_SAND)
        for row in range(6):
            for column in range(2):
                y0, y1 = row * side * unit, (row + 1) * side * unit
                x0, x1 = (shift + column * side * unit - SLANT * y for y in (y0, y1))
                fill = _WHITE if (row + column) % 2 else _BLACK
                draw.polygon([(x0, y0), (x0 + side * unit, y0), (x1 + side * unit, y1), (x1, y1)], fill=fill)
        return image.reduce(_SUPERSAMPLING)
