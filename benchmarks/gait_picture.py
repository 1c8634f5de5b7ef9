"""Draw two gaits: the champion's and, below it, that of recorded games, for example Kurodo's.

    qwop-record source=import 'source.files=[demos/kuro_try*.npz]' source.player=kurodo dataset=data/kurodo
    qwop-dataset reconstruct data/kurodo out=data/kurodo-frames
    python benchmarks/gait_picture.py --demonstrations data/kurodo-frames --name Kurodo --out docs/gait.png

Both are shown where they run most regularly between 60 and 95 m, from the moment when the right foot passes the left;
of the recorded games, the fastest finished one is used. All parts share one time axis. A game with keys is replayed
frame by frame; one without shows its observations, with the bodies interpolated linearly between them.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from qwop.datasets.from_keys import replay_episode
from qwop.datasets.reader import open_dataset
from qwop.envs.engine import layout as at
from qwop.envs.engine.bodies import HALF_HEIGHT, HALF_WIDTH
from qwop.envs.pictures.backdrop import GROUND_Y
from qwop.envs.pictures.figure import RUNNER, Canvas, draw_shapes
from qwop.envs.pictures.video import seconds_from_first_key
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.motion import (
    FRAMES_A_SECOND,
    Stride,
    feet_apart,
    lean,
    states_of_observations,
    steady_stride,
)
from qwop.envs.qwop.replay import replay
from qwop.policies.champion import keys_path

STRETCH = (600.0, 950.0)
"""Stretch of the track, in units: after the hurdle and before the finish."""

NEAR = 0.1
"""A foot within this many units of the track stands on it."""

STRIDES = 1.5
FIGURES = 10

INK, SOFT, LINE, PAPER, TRACK = (36, 44, 60), (110, 118, 134), (224, 228, 235), (255, 255, 255), (203, 96, 72)
COLOURS = ((31, 95, 168), (199, 82, 42))

SCALE = 2
"""Pixels of the picture for each pixel of the layout; the layout is at the size shown on a page."""

SUPERSAMPLING = 2
WIDTH, LEFT, RIGHT = 1000, 86, 66
UNIT = 8.2
"""Pixels of the layout for each unit of the game."""

ROW, GROUND = 196, 166
"""Height of a row of figures, and the height of the track in it."""

FEET, CHART, GAP = 66, 92, 30


@dataclass(frozen=True)
class Gait:
    """Name and colour of a runner; states float64 [n, 14, 6] from the start of its stride; the stride; its time."""

    name: str
    colour: tuple[int, int, int]
    states: NDArray[np.float64]
    stride: Stride
    seconds: float


class Sheet:
    """A canvas in pixels of the layout. Text is drawn last, at full resolution, to stay sharp."""

    def __init__(self, height: float) -> None:
        self.scale = SCALE * SUPERSAMPLING
        self.image = Image.new("RGB", (WIDTH * self.scale, round(height * self.scale)), PAPER)
        self.draw = ImageDraw.Draw(self.image)
        self._texts: list[tuple[float, float, str, float, tuple[int, int, int], str]] = []

    def line(self, points: Sequence[tuple[float, float]], colour: tuple[int, int, int], width: float) -> None:
        scaled = [(x * self.scale, y * self.scale) for x, y in points]
        self.draw.line(scaled, fill=colour, width=max(round(width * self.scale), 1), joint="curve")

    def bar(self, box: tuple[float, float, float, float], colour: tuple[int, int, int]) -> None:
        self.draw.rounded_rectangle([side * self.scale for side in box], 2.5 * self.scale, fill=colour)

    def text(
        self, x: float, y: float, said: str, size: float = 11, colour: tuple[int, int, int] = SOFT, anchor: str = "ls"
    ) -> None:
        self._texts.append((x, y, said, size, colour, anchor))

    def finished(self) -> Image.Image:
        image = self.image.reduce(SUPERSAMPLING)
        draw = ImageDraw.Draw(image)
        for x, y, said, size, colour, anchor in self._texts:
            font = ImageFont.load_default(size=size * SCALE)
            draw.text((x * SCALE, y * SCALE), said, fill=colour, font=font, anchor=anchor)
        return image


def on_the_ground(states: NDArray[np.float64], foot: int) -> NDArray[np.bool_]:
    """Return, bool [n], if this foot's lowest corner is on the track."""
    angle = np.abs(states[:, foot, at.ANGLE])
    reach = HALF_WIDTH[foot] * np.abs(np.sin(angle)) + HALF_HEIGHT[foot] * np.abs(np.cos(angle))
    standing: NDArray[np.bool_] = states[:, foot, at.Y] + reach > GROUND_Y - NEAR
    return standing


def gait_of_keys(name: str, keys: NDArray[np.uint8], colour: tuple[int, int, int]) -> Gait:
    states = replay(keys).states
    stride = steady_stride(states, STRETCH, STRIDES + 0.5)
    return Gait(name, colour, states[stride.start :], stride, float(seconds_from_first_key(keys)[len(states) - 1]))


def gait_of_recordings(name: str, folder: Path, colour: tuple[int, int, int]) -> Gait:
    """Gait of the fastest finished game of a dataset."""
    finished = [episode for episode in open_dataset(folder) if episode.outcome == "finished"]
    if not finished:
        raise SystemExit(f"{folder}: no finished game")
    episode = min(finished, key=lambda one: float(one.times[-1]))
    if episode.keys is not None:
        states = replay_episode(episode).states
        seconds = float(seconds_from_first_key(np.concatenate(episode.keys))[len(states) - 1])
    else:
        frames = np.rint(np.diff(episode.times) * FRAMES_A_SECOND).astype(np.int64)
        states = states_of_observations(episode.observations, frames)
        seconds = float(episode.times[-1])
    stride = steady_stride(states, STRETCH, STRIDES + 0.5)
    return Gait(name, colour, states[stride.start :], stride, seconds)


def picture(gaits: Sequence[Gait]) -> Image.Image:
    """Draw a row of figures for each gait; below, ground contact, lean of the torso and distance of the feet."""
    step = round(STRIDES * max(gait.stride.length for gait in gaits) / (FIGURES - 1))
    frames = step * (FIGURES - 1)
    seconds = frames / FRAMES_A_SECOND
    height = ROW * len(gaits) + FEET + 2 * (CHART + GAP) + GAP + 24
    sheet = Sheet(height)

    def across(time: float) -> float:
        return LEFT + time / seconds * (WIDTH - LEFT - RIGHT)

    for row, gait in enumerate(gaits):
        _figures(sheet, gait, frames, row * ROW, across)
    top = ROW * len(gaits)
    bottom = height - 24
    for half in range(int(seconds * 2) + 1):
        sheet.line([(across(half / 2), top + 16), (across(half / 2), bottom)], LINE, 0.8)
        sheet.text(across(half / 2), bottom + 15, f"{half / 2:.1f} s", 10.5, SOFT, "ms")
    _feet(sheet, gaits, frames, top + 16, across)
    charts = (
        ("torso leans forward, °", [np.degrees(lean(gait.states)) for gait in gaits]),
        ("right foot before the left, m", [feet_apart(gait.states) / 10 for gait in gaits]),
    )
    for number, (title, lines) in enumerate(charts):
        _chart(sheet, title, lines, gaits, frames, top + FEET + GAP + 10 + number * (CHART + GAP), across)
    return sheet.finished()


def _figures(sheet: Sheet, gait: Gait, frames: int, top: float, across: Callable[[float], float]) -> None:
    stride = gait.stride
    title = f"{gait.name}: 100 m in {gait.seconds:.2f} s"
    sheet.text(16, top + 24, title, 15, gait.colour)
    facts = f"here {stride.speed:.2f} m/s; a stride takes {stride.length / FRAMES_A_SECOND:.2f} s and goes "
    sheet.text(WIDTH - 16, top + 24, f"{facts}{stride.distance / 10:.1f} m", 11.5, SOFT, "rs")
    ground = top + GROUND
    sheet.line([(16, ground), (WIDTH - 16, ground)], TRACK, 1.6)
    for frame in range(0, frames + 1, frames // (FIGURES - 1)):
        state = gait.states[frame]
        x = across(frame / FRAMES_A_SECOND)
        unit = UNIT * sheet.scale
        origin = (state[at.TORSO, 0] - x / UNIT, GROUND_Y - ground / UNIT)
        draw_shapes(Canvas(sheet.draw, origin, unit), RUNNER, state)
        sheet.text(x, ground + 17, f"{frame / FRAMES_A_SECOND:.2f} s", 10, SOFT, "ms")


def _feet(sheet: Sheet, gaits: Sequence[Gait], frames: int, top: float, across: Callable[[float], float]) -> None:
    """Draw bars while a foot is on the ground, the right foot above the left."""
    sheet.text(16, top + 2, "feet on the ground", 11.5, INK)
    feet = (("right", at.RIGHT_FOOT), ("left", at.LEFT_FOOT))
    for row, (gait, (side, foot)) in enumerate((gait, one) for gait in gaits for one in feet):
        y = top + 12 + row * 11 + (4 if row >= len(feet) else 0)
        sheet.text(LEFT - 12, y + 7, side, 9.5, gait.colour, "rs")
        down = np.concatenate([[False], on_the_ground(gait.states[:frames], foot), [False]]).astype(int)
        starts, ends = np.flatnonzero(np.diff(down) == 1), np.flatnonzero(np.diff(down) == -1)
        for start, end in zip(starts, ends, strict=True):
            sheet.bar((across(start / FRAMES_A_SECOND), y, across(end / FRAMES_A_SECOND), y + 7), gait.colour)


def _chart(
    sheet: Sheet,
    title: str,
    lines: Sequence[NDArray[np.float64]],
    gaits: Sequence[Gait],
    frames: int,
    top: float,
    across: Callable[[float], float],
) -> None:
    shown = [line[: frames + 1] for line in lines]
    low, high = min(line.min() for line in shown), max(line.max() for line in shown)
    step = next(one for one in (0.25, 0.5, 1, 2, 5, 10, 20, 50) if (high - low) / one <= 4)
    first, last = np.floor(low / step), np.ceil(high / step)

    def up(value: float) -> float:
        return top + 10 + (last * step - value) / ((last - first) * step) * (CHART - 14)

    sheet.text(16, top, title, 11.5, INK)
    for tick in np.arange(first, last + 1) * step:
        sheet.line([(LEFT, up(tick)), (WIDTH - RIGHT, up(tick))], (190, 196, 208) if tick == 0 else LINE, 0.8)
        sheet.text(LEFT - 12, up(tick) + 3.5, f"{tick:g}", 9.5, SOFT, "rs")
    for line, gait in zip(shown, gaits, strict=True):
        points = [(across(frame / FRAMES_A_SECOND), up(value)) for frame, value in enumerate(line.tolist())]
        sheet.line(points, gait.colour, 2.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", default="champion", help="a keys file (best_keys.txt), or champion")
    parser.add_argument("--demonstrations", type=Path, required=True, help="a dataset of QWOP")
    parser.add_argument("--name", default="Kurodo", help="the player's name")
    parser.add_argument("--out", type=Path, default=Path("docs/gait.png"))
    given = parser.parse_args()
    runner = "The champion" if given.keys == "champion" else Path(given.keys).stem
    gaits = (
        gait_of_keys(runner, read_keys(keys_path(given.keys)), COLOURS[0]),
        gait_of_recordings(given.name, given.demonstrations, COLOURS[1]),
    )
    image = picture(gaits).quantize(192, dither=Image.Dither.NONE)
    image.save(given.out, optimize=True)
    print(f"{given.out}: {given.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
