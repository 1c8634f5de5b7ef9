"""Pictures of a race: its runners side by side, and a bar with all of them on it."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from ..engine import batch
from ..pictures.drawing import Drawing
from ..pictures.video import picture_strip

COLOURS = ((214, 69, 65), (52, 101, 186), (46, 139, 87), (176, 112, 26), (122, 78, 168), (30, 138, 150))
"""Colours of the runners, in order; further runners start over."""

_BAR, _MARGIN, _DOT = 40, 30, 8
"""Height of the bar below the runners, its margins, the radius of a runner's dot; pixels."""

_INK, _PAPER, _LINE = (36, 44, 60), (255, 255, 255), (158, 168, 186)

_WORDS = {batch.FINISHED: "finished", batch.FELL: "fell", batch.STOPPED: "stopped"}

_LENGTH = 100.0
"""Metres of a race."""


_WIDTH, _HEIGHT, _COLUMNS = 480, 300, 2
"""Size of a runner's picture in pixels, and pictures in a row."""


class RacePicture:
    """Draws races, each runner in a picture of its own."""

    def __init__(self) -> None:
        self._drawing = Drawing(_WIDTH, _HEIGHT)

    def picture(
        self,
        states: NDArray[np.float64],
        metres: NDArray[np.float64],
        distances: NDArray[np.float64],
        seconds: NDArray[np.float64],
        outcomes: NDArray[np.int64],
        *,
        keys: NDArray[np.int64],
    ) -> NDArray[np.uint8]:
        """Return a race as RGB, uint8 [height, width, 3].

        states: bodies of each runner, [m, 14, 6]; metres, distances: score and place of the torso, [m]; seconds,
        outcomes (places in `names.OUTCOMES`), keys: [m].
        """
        runners = []
        for runner, state in enumerate(states):
            shown = self._drawing.picture(
                state, metres=float(metres[runner]), seconds=float(seconds[runner]), keys=int(keys[runner])
            )
            runners.append(self._labelled(shown, runner, _WORDS.get(int(outcomes[runner]), "")))
        strip = picture_strip(runners, min(_COLUMNS, len(runners)))
        return np.concatenate([strip, self._bar(strip.shape[1], distances)])

    def _labelled(self, shown: NDArray[np.uint8], runner: int, word: str) -> NDArray[np.uint8]:
        """Frame a picture in the runner's colour, and write its number and outcome."""
        image = Image.fromarray(shown)
        draw = ImageDraw.Draw(image)
        colour = COLOURS[runner % len(COLOURS)]
        draw.rectangle((0, 0, image.width - 1, image.height - 1), outline=colour, width=3)
        text = f"{runner + 1}  {word}".rstrip()
        box = draw.textbbox((0, 0), text, font=self._font)
        draw.rectangle((0, image.height - 26, box[2] + 16, image.height), fill=colour)
        draw.text((8, image.height - 13), text, fill=_PAPER, font=self._font, anchor="lm")
        return np.asarray(image)

    def _bar(self, width: int, distances: NDArray[np.float64]) -> NDArray[np.uint8]:
        image = Image.new("RGB", (width, _BAR), _PAPER)
        draw = ImageDraw.Draw(image)
        middle, left, right = _BAR // 2 - 6, _MARGIN, width - _MARGIN
        draw.line((left, middle, right, middle), fill=_LINE, width=3)
        for mark in range(0, 101, 25):
            x = left + (right - left) * mark / _LENGTH
            draw.line((x, middle - 6, x, middle + 6), fill=_LINE, width=2)
            draw.text((x, _BAR - 3), f"{mark} m", fill=_INK, font=self._small, anchor="ms")
        # The first runner is drawn last, so that its dot is not covered at the start.
        for runner in reversed(range(len(distances))):
            x = left + (right - left) * min(max(float(distances[runner]), 0.0), _LENGTH) / _LENGTH
            box = (x - _DOT, middle - _DOT, x + _DOT, middle + _DOT)
            draw.ellipse(box, fill=COLOURS[runner % len(COLOURS)], outline=_PAPER, width=1)
        return np.asarray(image)

    @cached_property
    def _font(self) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        return ImageFont.load_default(size=16)

    @cached_property
    def _small(self) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        return ImageFont.load_default(size=11)
