"""The scene behind the runner: tiles pasted where the camera is."""

from functools import cached_property

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .backdrop import (
    FINISH_X,
    GRASS_ABOVE,
    GROUND_AT,
    LINE,
    METRE,
    SKY_LOW,
    SKY_TOP,
    SLANT,
    TRACK_ABOVE,
    UNITS_HIGH,
    Backdrop,
)

_LABEL_SIZE, _LABEL_BELOW = 1.15, 2.35
"""Of the metres' numbers, units: how large, and how far below the track's far edge."""


class Scenery:
    """The scene for one size of picture."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.scale = height / UNITS_HIGH
        self.ground = round(height * GROUND_AT)
        self._grass = self.ground - round(GRASS_ABOVE * self.scale)
        self._track = self.ground - round(TRACK_ABOVE * self.scale)
        self._tiles = Backdrop(self.scale)
        self._labels: dict[int, Image.Image] = {}

    def draw(self, left: int, lift: int) -> Image.Image:
        """Draw the scene with the world's pixel `left` at the left edge, moved down by `lift` pixels."""
        picture = self._sky.copy()
        for strip in self._tiles.strips:
            # One pixel lower than the grass begins, so that no sky shows between.
            top = self._grass - strip.image.height + round(lift * strip.share) + 1
            self._repeat(picture, strip.image, round(left * strip.share), top, 0)
        self._repeat(picture, self._tiles.lane, left, self._grass + lift, 0)
        finish = round(FINISH_X * self.scale) - left
        if finish < self.width + self._tiles.finish.width:
            track = self._track + lift
            self._repeat(picture, self._tiles.sand, left, track, max(finish, 0))
            corner = finish - round(SLANT * self._tiles.finish.height)
            picture.paste(self._tiles.finish, (corner, track), self._tiles.finish)
        self._numbers(picture, left, lift)
        return picture

    def _repeat(self, picture: Image.Image, tile: Image.Image, left: int, top: int, start: int) -> None:
        """Repeat the tile from pixel `start` to the right edge."""
        for x in range(start - (left + start) % tile.width, self.width, tile.width):
            shown = tile.crop((start - x, 0, tile.width, tile.height)) if x < start else tile
            picture.paste(shown, (max(x, start), top), shown if tile.mode == "RGBA" else None)

    def _numbers(self, picture: Image.Image, left: int, lift: int) -> None:
        """Write the number of every metre under its mark."""
        step = METRE * self.scale
        y = self._track + lift + round(_LABEL_BELOW * self.scale)
        for metre in range(max(int(left // step), 0), min(int((left + self.width) // step) + 1, 100) + 1):
            label = self._label(metre)
            mark = round(metre * step - SLANT * 3.2 * self.scale) - left
            # The finish line takes the place of half the last number.
            picture.paste(LINE, (mark - label.width // (1 if metre == 100 else 2), y), label)

    def _label(self, metre: int) -> Image.Image:
        if metre not in self._labels:
            font = ImageFont.load_default(size=_LABEL_SIZE * self.scale)
            text = f"{metre} m"
            box = font.getbbox(text)
            label = Image.new("L", (int(box[2]) + 2, int(box[3]) + 2))
            ImageDraw.Draw(label).text((0, 0), text, fill=255, font=font)
            self._labels[metre] = label
        return self._labels[metre]

    @cached_property
    def _sky(self) -> Image.Image:
        share = (np.linspace(0, 1, self.height) ** 0.8)[:, None, None]
        rows = np.asarray(SKY_TOP) * (1 - share) + np.asarray(SKY_LOW) * share
        return Image.fromarray(np.broadcast_to(rows, (self.height, self.width, 3)).round().astype(np.uint8))
