"""Pictures of a report: rasters of keys, and figures of a gait, as PNG."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from ...common.errors import BadInput
from ...envs.names import BODIES, FRAMES_A_SECOND, GROUND_Y, KEY_O, KEY_P, KEY_Q, KEY_W
from ...envs.pictures.figure import RUNNER, Canvas, draw_shapes
from ...envs.pictures.frame_rows import POSE
from ...envs.pictures.player import Clip
from ...envs.qwop.motion import steady_stride

KEYS = (
    (KEY_Q, "Q", (31, 95, 168)),
    (KEY_W, "W", (96, 172, 226)),
    (KEY_O, "O", (199, 82, 42)),
    (KEY_P, "P", (240, 158, 96)),
)

LANE, GAP = 3, 5
"""Height of a key's row, and of the gap below a game, pixels."""

FRAME = 2
"""Width of a frame, pixels."""

LONGEST = 900
"""Frames of a raster: half a minute."""

AXIS, SECONDS_APART = 20, 5
"""Height of the axis below a raster, pixels, and the seconds between its marks."""

FIGURES = 11
STRIDES = 1.5
UNIT = 8.0
"""Pixels of a unit of the game in a strobe."""

APART, HIGH, GROUND = 11.5, 20.0, 18.8
"""Units between the figures of a strobe, of its height, and from its top to the track."""

SMOOTH = 3
"""Pixels drawn for each pixel shown."""

_KEY_COLUMN = POSE + 2


def key_raster(clips: Sequence[Clip]) -> Image.Image:
    """A band for each game, in it a row for each of Q, W, O and P, coloured while the key is down; seconds below."""
    frames = min(max(len(clip.rows) - 1 for clip in clips), LONGEST)
    band = len(KEYS) * LANE + GAP
    picture = np.full((band * len(clips), frames * FRAME, 3), 255, dtype=np.uint8)
    for number, clip in enumerate(clips):
        keys = clip.rows[1 : frames + 1, _KEY_COLUMN].astype(np.uint8)
        picture[number * band : number * band + len(KEYS) * LANE, : len(keys) * FRAME] = (238, 241, 246)
        for row, (bit, _, colour) in enumerate(KEYS):
            down = np.repeat((keys & bit) != 0, FRAME)
            top = number * band + row * LANE
            picture[top : top + LANE, : len(down)][:, down] = colour
    return _with_seconds(Image.fromarray(picture), frames)


def _with_seconds(raster: Image.Image, frames: int) -> Image.Image:
    """The raster above an axis in seconds."""
    picture = Image.new("RGB", (raster.width, raster.height + AXIS), (255, 255, 255))
    picture.paste(raster)
    draw, font, grey = ImageDraw.Draw(picture), ImageFont.load_default(size=13), (90, 100, 120)
    for frame in range(0, frames + 1, SECONDS_APART * FRAMES_A_SECOND):
        x = min(frame * FRAME, raster.width - 1)
        anchor = "lt" if frame == 0 else "rt" if frame == frames else "mt"
        draw.line([(x, raster.height), (x, raster.height + 3)], fill=grey)
        draw.text((x, raster.height + 6), f"{frame // FRAMES_A_SECOND} s", fill=grey, font=font, anchor=anchor)
    return picture


def strobe(
    clip: Clip, between: tuple[float, float] | None = None, density: int = 1
) -> tuple[Image.Image, float, float]:
    """Figures at equal times through one and a half strides; the picture, and the seconds of the first and last one.

    The stride is the most regular one between these places of the track (units), by default of the middle of the run;
    of a run without any, the first seconds are shown. density: pixels of the picture for each pixel shown.
    """
    states = states_of(clip)
    last = float(states[-1, 0, 0])
    first, frames = _stretch(states, between or (0.3 * last, 0.9 * last))
    chosen = np.linspace(first, first + frames, FIGURES).round().astype(int)
    wide, high = round(APART * FIGURES * UNIT * density), round(HIGH * UNIT * density)
    picture = Image.new("RGB", (wide * SMOOTH, high * SMOOTH), (255, 255, 255))
    draw = ImageDraw.Draw(picture)
    scale = UNIT * SMOOTH * density
    ground = GROUND * scale
    draw.line([(0, ground), (picture.width, ground)], fill=(203, 96, 72), width=2 * SMOOTH * density)
    for number, frame in enumerate(chosen.tolist()):
        x = (number + 0.5) * APART
        origin = (float(states[frame, 0, 0]) - x, GROUND_Y - ground / scale)
        draw_shapes(Canvas(draw, origin, scale), RUNNER, states[frame])
    shown = picture.resize((wide, high), Image.Resampling.LANCZOS)
    return shown, chosen[0] / FRAMES_A_SECOND, chosen[-1] / FRAMES_A_SECOND


def as_html(picture: Image.Image, words: str, name: str) -> str:
    """An `img` of a class, with the picture within it."""
    file = io.BytesIO()
    picture.quantize(128, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    data = base64.b64encode(file.getvalue()).decode()
    return (
        f'<div class="scroll"><img class="{name}" alt="{words}" width="{picture.width}" height="{picture.height}" '
        f'src="data:image/png;base64,{data}"></div>'
    )


def _stretch(states: NDArray[np.float64], between: tuple[float, float]) -> tuple[int, int]:
    """First frame and number of frames of the strides to show."""
    try:
        stride = steady_stride(states, between)
    except (BadInput, ValueError, IndexError):  # too short, or not a run
        return 0, min(len(states) - 1, 2 * FRAMES_A_SECOND)
    return stride.start, min(round(STRIDES * stride.length), len(states) - 1 - stride.start)


def states_of(clip: Clip) -> NDArray[np.float64]:
    """States with the poses of the rows, float64 [n, 14, 6]; velocities are 0."""
    poses = clip.rows[:, :POSE].reshape(-1, len(BODIES), 3).astype(np.float64)
    return np.concatenate([poses, np.zeros_like(poses)], axis=2)
