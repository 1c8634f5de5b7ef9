"""What stands still: sky, hills, track and metre marks, drawn once and then only shifted."""

from functools import cached_property

import numpy as np
from PIL import Image, ImageDraw, ImageFont

UNITS_HIGH = 25.0
"""Height of the view, units (2.5 m)."""

GROUND_Y = 9.14275
"""Where feet stand, units: the top of the track's boxes."""

GROUND_AT = 0.83
"""Where that is in the picture, of its height."""

FINISH_X = 1000.0
"""Past this line a jump lands, units."""

UNITS_A_METRE = 10

_SKY_TOP, _SKY_LOW = (112, 188, 238), (232, 246, 252)
_CLOUD = (255, 255, 255)
_HILLS = ((171, 207, 205), (137, 190, 160))
_TREES, _HEDGE, _HEDGE_EDGE = (88, 150, 104), (70, 128, 84), (54, 104, 70)
_GRASS, _TRACK, _TRACK_DARK, _LINE, _TICK = (
    (126, 186, 92),
    (203, 96, 72),
    (190, 86, 64),
    (250, 240, 232),
    (236, 188, 170),
)
_SAND, _SAND_DARK = (236, 214, 160), (220, 194, 136)
_SUPERSAMPLING = 3


class Scenery:
    """The scene behind the runner for one size of picture."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.scale = height / UNITS_HIGH
        self.ground = round(height * GROUND_AT)
        self._labels: dict[int, Image.Image] = {}
        # The far edge of the grass lies above the line that feet touch, the track a little below it.
        self._grass_top = self.ground - round(1.7 * self.scale)
        self._track_top = self.ground - round(0.75 * self.scale)

    def draw(self, left: int, lift: int) -> Image.Image:
        """The scene with the world's pixel `left` at the left edge, moved down by `lift` pixels."""
        picture = self._sky.copy()
        for strip, share in self._strips:
            top = self._grass_top - strip.height + round(lift * share) + 2
            self._tile(picture, strip, round(left * share), top)
        self._tile(picture, self._lane, left, self._grass_top + lift)
        self._marks(picture, left, lift)
        return picture

    def _tile(self, picture: Image.Image, strip: Image.Image, left: int, top: int) -> None:
        for x in range(-(left % strip.width), self.width, strip.width):
            picture.paste(strip, (x, top), strip if strip.mode == "RGBA" else None)

    def _marks(self, picture: Image.Image, left: int, lift: int) -> None:
        """Every metre's number, the finish line and the sand behind it."""
        draw = ImageDraw.Draw(picture)
        step = UNITS_A_METRE * self.scale
        top, bottom = self._track_top + lift, self.height
        finish = round(FINISH_X * self.scale) - left
        if finish < self.width + self.height:
            finish = max(finish, -self.width)
            draw.polygon(
                [(finish, top), (self.width, top), (self.width, bottom), (finish - self._slant(bottom - top), bottom)],
                fill=_SAND,
            )
            for row in range(3):
                y = top + (bottom - top) * (row + 1) // 4
                for x in range(finish + 9 * row, self.width, max(round(self.scale * 1.5), 1)):
                    draw.line((x, y, x + self.scale * 0.5, y), fill=_SAND_DARK, width=max(round(self.scale / 8), 1))
            self._finish(draw, finish, top, bottom)
        for metre in range(int(left // step), int((left + self.width) // step) + 2):
            if 0 <= metre <= 100:
                label = self._label(metre)
                x = (
                    round(metre * step)
                    - left
                    - self._slant(round(3.2 * self.scale))
                    - label.width // (1 if metre == 100 else 2)
                )
                picture.paste(_LINE, (x, top + round(2.35 * self.scale)), label)

    def _finish(self, draw: ImageDraw.ImageDraw, x: int, top: int, bottom: int) -> None:
        side = max((bottom - top) // 6, 2)
        for row in range(-(-(bottom - top) // side)):
            for column in range(2):
                y0, y1 = top + row * side, min(top + (row + 1) * side, bottom)
                x0, x1 = x + column * side - self._slant(y0 - top), x + column * side - self._slant(y1 - top)
                colour = (250, 250, 250) if (row + column) % 2 else (40, 40, 44)
                draw.polygon([(x0, y0), (x0 + side, y0), (x1 + side, y1), (x1, y1)], fill=colour)

    @staticmethod
    def _slant(pixels_down: int) -> int:
        """How far a line across the track leans to the left as it comes nearer."""
        return round(0.45 * pixels_down)

    def _label(self, metre: int) -> Image.Image:
        if metre not in self._labels:
            font = ImageFont.load_default(size=1.15 * self.scale)
            text = f"{metre} m"
            box = font.getbbox(text)
            label = Image.new("L", (int(box[2]) + 2, int(box[3]) + 2))
            ImageDraw.Draw(label).text((0, 0), text, fill=255, font=font)
            self._labels[metre] = label
        return self._labels[metre]

    @cached_property
    def _sky(self) -> Image.Image:
        share = (np.linspace(0, 1, self.height) ** 0.8)[:, None, None]
        rows = np.asarray(_SKY_TOP) * (1 - share) + np.asarray(_SKY_LOW) * share
        return Image.fromarray(np.broadcast_to(rows, (self.height, self.width, 3)).round().astype(np.uint8))

    @cached_property
    def _strips(self) -> list[tuple[Image.Image, float]]:
        """What lies behind the track, far to near, with the share of the camera's motion that each follows."""
        return [
            (self._clouds(), 0.04),
            (self._range(_HILLS[0], 5.2, 1.6, 3), 0.08),
            (self._range(_HILLS[1], 3.4, 1.1, 5), 0.15),
            (self._trees(), 0.3),
            (self._hedge(), 0.6),
        ]

    def _blank(self, units_high: float, units_wide: float = 60.0) -> tuple[Image.Image, float]:
        pixels = self.scale * _SUPERSAMPLING
        return Image.new(
            "RGBA", (round(units_wide * self.scale) * _SUPERSAMPLING, round(units_high * self.scale) * _SUPERSAMPLING)
        ), pixels

    def _clouds(self) -> Image.Image:
        image, pixels = self._blank(19.0, 90.0)
        draw = ImageDraw.Draw(image)
        for x, y, size in ((8, 3.2, 1.2), (30, 6.4, 0.8), (49, 2.2, 1.0), (66, 5.2, 1.3), (81, 7.8, 0.6)):
            for dx, dy, r in (
                (-2.2, 0.3, 0.9),
                (-1.0, -0.3, 1.2),
                (0.4, -0.6, 1.5),
                (1.7, -0.1, 1.1),
                (2.7, 0.35, 0.8),
            ):
                cx, cy, radius = (x + dx * size) * pixels, (y + dy * size) * pixels, r * size * pixels
                draw.ellipse((cx - radius, cy - radius * 0.72, cx + radius, cy + radius * 0.72), fill=(*_CLOUD, 225))
            draw.rectangle(
                (
                    (x - 3.4 * size) * pixels,
                    (y + 0.75 * size) * pixels,
                    (x + 3.8 * size) * pixels,
                    (y + 1.3 * size) * pixels,
                ),
                fill=(0, 0, 0, 0),
            )
        return image.reduce(_SUPERSAMPLING)

    def _range(self, colour: tuple[int, int, int], high: float, swing: float, waves: int) -> Image.Image:
        image, pixels = self._blank(high + swing + 0.5)
        turn = np.linspace(0, 2 * np.pi, 241)
        ridge = high + swing * (0.6 * np.sin(waves * turn + 1) + 0.4 * np.sin((2 * waves + 1) * turn))
        xs = np.linspace(0, image.width, len(turn))
        points = [(x, image.height - y * pixels) for x, y in zip(xs, ridge, strict=True)]
        ImageDraw.Draw(image).polygon([(0, image.height), *points, (image.width, image.height)], fill=colour)
        return image.reduce(_SUPERSAMPLING)

    def _trees(self) -> Image.Image:
        image, pixels = self._blank(4.0)
        draw = ImageDraw.Draw(image)
        generator = np.random.default_rng(7)
        for place in np.arange(0, 60, 1.3):
            radius, height = generator.uniform(0.8, 1.5), generator.uniform(0.9, 2.2)
            shade = tuple(int(part * generator.uniform(0.93, 1.07)) for part in _TREES)
            for x in (place - 60, place, place + 60):  # the strip joins itself
                draw.ellipse(
                    (
                        (x - radius) * pixels,
                        image.height - (height + radius) * pixels,
                        (x + radius) * pixels,
                        image.height - (height - radius * 1.4) * pixels,
                    ),
                    fill=shade,
                )
                draw.rectangle(
                    ((x - radius) * pixels, image.height - height * pixels, (x + radius) * pixels, image.height),
                    fill=shade,
                )
        return image.reduce(_SUPERSAMPLING)

    def _hedge(self) -> Image.Image:
        image, pixels = self._blank(1.5)
        draw = ImageDraw.Draw(image)
        draw.rectangle((0, 0.45 * pixels, image.width, image.height), fill=_HEDGE)
        for x in range(0, 60, 2):
            draw.ellipse(((x - 0.2) * pixels, 0.1 * pixels, (x + 2.2) * pixels, 1.3 * pixels), fill=_HEDGE)
        draw.rectangle((0, image.height - 0.3 * pixels, image.width, image.height), fill=_HEDGE_EDGE)
        return image.reduce(_SUPERSAMPLING)

    @cached_property
    def _lane(self) -> Image.Image:
        """One metre of grass and track; it repeats every metre."""
        wide, high = round(UNITS_A_METRE * self.scale), self.height - self._grass_top + self.height // 2
        factor = _SUPERSAMPLING
        image = Image.new("RGB", (wide * factor, high * factor), _GRASS)
        draw = ImageDraw.Draw(image)
        pixels = self.scale * factor
        top = (self._track_top - self._grass_top) * factor
        draw.rectangle((0, top, image.width, image.height), fill=_TRACK)
        draw.rectangle((0, top + 2.15 * pixels, image.width, image.height), fill=_TRACK_DARK)
        for y, thick in ((0.0, 0.14), (2.15, 0.2)):
            draw.rectangle((0, top + y * pixels, image.width, top + (y + thick) * pixels), fill=_LINE)
        for tenth in range(10):
            long, x = tenth == 0, tenth / 10 * image.width
            down = (2.15 if long else 0.45) * pixels
            lean = 0.45 * down
            for shift in (0, image.width):
                draw.line(
                    (x + shift, top, x + shift - lean, top + down),
                    fill=_LINE if long else _TICK,
                    width=max(round((0.16 if long else 0.09) * pixels), 1),
                )
        return image.reduce(factor)
