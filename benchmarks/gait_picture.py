"""Draw two gaits: of the fastest game, found by search, and of the fastest of some recorded games, such as Kurodo's.

    qwop-record source=import 'source.files=[demos/kuro_try*.npz]' source.player=kurodo dataset=data/kurodo
    qwop-dataset reconstruct data/kurodo out=data/kurodo-frames
    python benchmarks/gait_picture.py --demonstrations data/kurodo-frames --name Kurodo --out docs/gait.png

The figures are those of a stride and a half where both run most regularly between 60 and 95 m.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from qwop.common.errors import BadInput
from qwop.datasets.clips import clip_of
from qwop.datasets.reader import open_dataset
from qwop.envs.names import BODIES, FRAMES_A_SECOND, GROUND_Y
from qwop.envs.pictures.figure import RUNNER, Canvas, draw_shapes
from qwop.envs.pictures.frame_rows import POSE, rows_of_game
from qwop.envs.pictures.player import Clip
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.motion import steady_stride
from qwop.policies.champion import keys_path

STRETCH = (600.0, 950.0)
"""Stretch of the track, in units: after the hurdle and before the finish."""

FIGURES, STRIDES = 11, 1.5

UNIT = 8.0
"""Pixels of a unit of the game."""

APART, HIGH, GROUND = 11.5, 20.0, 18.8
"""Units between the figures, of their picture's height, and from its top to the track."""

SMOOTH = 3
"""Pixels drawn for each pixel shown."""

DENSITY, TITLE = 2, 56
"""Pixels of the picture for each pixel shown on a page, and the height of a title in it."""


def fastest(folder: Path, name: str) -> Clip:
    """The fastest finished game of a dataset."""
    dataset = open_dataset(folder)
    finished = [episode for episode in dataset if episode.outcome == "finished"]
    if not finished:
        raise SystemExit(f"{folder}: no finished game")
    return clip_of(min(finished, key=lambda one: float(one.times[-1])), dataset.info, name)


def gait(clip: Clip) -> Image.Image:
    """Figures of a stride and a half, below the runner's time and the stride's length."""
    stride = steady_stride(states_of(clip), STRETCH)
    figures, _, _ = strobe(clip, STRETCH, DENSITY)
    picture = Image.new("RGB", (figures.width, TITLE + figures.height), (255, 255, 255))
    picture.paste(figures, (0, TITLE))
    title = f"{clip.title}: 100 m in {clip.rows[-1, POSE + 1]:.2f} s"
    facts = f"a stride takes {stride.length / FRAMES_A_SECOND:.2f} s and goes {stride.distance / 10:.1f} m"
    draw = ImageDraw.Draw(picture)
    for x, text, size, anchor in ((16, title, 15, "lm"), (figures.width // DENSITY - 16, facts, 12, "rm")):
        font = ImageFont.load_default(size=size * DENSITY)
        draw.text((x * DENSITY, TITLE // 2), text, fill=(36, 44, 60), font=font, anchor=anchor)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demonstrations", type=Path, required=True, help="a dataset of QWOP")
    parser.add_argument("--name", default="Kurodo", help="the player's name")
    parser.add_argument("--out", type=Path, default=Path("docs/gait.png"))
    given = parser.parse_args()
    searched = Clip("The fastest game", rows_of_game(read_keys(keys_path("champion"))))
    rows = [gait(searched), gait(fastest(given.demonstrations, given.name))]
    picture = Image.fromarray(np.concatenate([np.asarray(one) for one in rows]))
    picture.quantize(192, dither=Image.Dither.NONE).save(given.out, optimize=True)
    print(f"{given.out}: {given.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
