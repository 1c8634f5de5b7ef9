"""Films and picture strips of games."""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import imageio.v2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common.files import atomic_file
from ..names import FRAMES_A_SECOND, SCORE
from .drawing import Drawing

LAST_PICTURE_SECONDS = 1.5
"""Seconds for which a film rests on its last picture."""

_FILTER = f"pad=ceil(iw/2)*2:ceil(ih/2)*2,tpad=stop_mode=clone:stop_duration={LAST_PICTURE_SECONDS}"

GAP = 4
"""Pixels between the pictures of a strip."""

Pictures = Iterable[NDArray[np.uint8]]


def seconds_from_first_key(keys: ArrayLike) -> NDArray[np.float64]:
    """Return the running time at every state of a game, float64 [n + 1] seconds; 0 until the first key is down."""
    down = np.asarray(keys) != 0
    first = int(np.argmax(down)) if down.any() else len(down)
    return np.maximum(np.arange(len(down) + 1) - first, 0) / FRAMES_A_SECOND


def game_pictures(
    states: NDArray[np.float64], events: NDArray[np.float64], keys: ArrayLike, drawing: Drawing | None = None
) -> Iterator[NDArray[np.uint8]]:
    """Yield a picture of every state of a game: states [n + 1, 14, 6], events [n + 1, 6], keys of each frame [≥ n]."""
    drawing = drawing or Drawing()
    down = np.concatenate([[0], np.asarray(keys, dtype=np.uint8)])  # the keys that led to a state
    seconds = seconds_from_first_key(keys)
    for frame, (state, event) in enumerate(zip(states, events, strict=True)):
        yield drawing.picture(state, metres=event[SCORE], seconds=seconds[frame], keys=int(down[frame]))


def write_video(path: str | os.PathLike[str], pictures: Pictures, fps: float = FRAMES_A_SECOND) -> Path:
    """Write an H.264 film (.mp4, yuv420p, which every browser plays); it appears whole or not at all."""
    path = Path(path)
    with atomic_file(path) as partial:
        film: Any = imageio.v2.get_writer(
            partial,
            fps=fps,
            codec="libx264",
            pixelformat="yuv420p",
            macro_block_size=1,  # the filter pads odd sides, which yuv420p has not
            quality=7,
            output_params=["-preset", "veryfast", "-vf", _FILTER],  # in half the time of the default, and 6 % larger
        )
        with closing(film):  # as a context of its own, the writer would leave ffmpeg running on an exception
            for picture in pictures:
                film.append_data(picture)
    return path


def picture_strip(pictures: Pictures, columns: int) -> NDArray[np.uint8]:
    """Arrange pictures of one size in rows of `columns`, `GAP` apart on white: uint8 [height, width, 3]."""
    tiles = list(pictures)
    high, wide = tiles[0].shape[:2]
    rows = -(-len(tiles) // columns)
    strip = np.full((rows * (high + GAP) - GAP, columns * (wide + GAP) - GAP, 3), 255, dtype=np.uint8)
    for index, tile in enumerate(tiles):
        top, left = index // columns * (high + GAP), index % columns * (wide + GAP)
        strip[top : top + high, left : left + wide] = tile
    return strip
