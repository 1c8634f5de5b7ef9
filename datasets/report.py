"""`qwop-dataset report`: a page of pictures of a dataset: its games to watch, distances, endings, keys and players."""

import base64
import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Annotated

import numpy as np
from PIL import Image
from pydantic import Field

from ..common.charts import Points, line_chart, shares_below
from ..common.command import Command
from ..common.errors import BadInput
from ..common.files import write_atomic
from ..common.page import facts, origin, page, tiles
from ..common.progress import plain_console
from ..common.run_folder import clone_next, command_line, to_yaml
from ..common.settings import HomePath, Settings
from ..envs.pictures.player import POSE, Clip, player
from .clips import clip_of, clip_title
from .folder import episode_number
from .reader import Dataset, open_dataset
from .summary import Summary

KEYS = {"Q": (31, 95, 168), "W": (96, 172, 226), "O": (199, 82, 42), "P": (240, 158, 96)}  # in the order of bits
LANE, GAP, FRAME, LONGEST, RASTERS = 3, 5, 2, 900, 16
"""Height of a key's row and of the gap below a game, width of a frame, pixels; most frames and games drawn."""


class ReportSettings(Settings):
    """The dataset to show."""

    dataset: Annotated[HomePath, Field(examples=["data/me"])]
    """Folder of the dataset."""
    out: HomePath | None = None
    """File of the report (.html). null: beside the dataset, named after it."""
    games: Annotated[int, Field(ge=1, le=1000)] = 30
    """Episodes that are drawn and can be played; each takes about 70 kB."""

    def check(self) -> None:
        if self.out is not None and Path(self.out).suffix != ".html":
            raise BadInput(f"out={self.out}: expected the name of a page (.html)")


def run(settings: ReportSettings) -> None:
    """Write the page."""
    folder = Path(settings.dataset).resolve()
    file = Path(settings.out) if settings.out is not None else folder.with_name(f"{folder.name}-report.html")
    made_by = command_line("qwop-dataset report", settings.words)
    text = document(open_dataset(settings.dataset), settings.games, origin(made_by, to_yaml(settings)))
    write_atomic(file, text)
    console = plain_console()
    console.print(f"report: {file}")
    console.print(clone_next(Path(settings.dataset)))


def document(dataset: Dataset, games: int, made_by: str) -> str:
    """The whole page: statistics of all episodes, pictures of the best one and of evenly spaced others."""
    summary, title = dataset.summary(), str(dataset.folder)
    even = np.linspace(0, len(dataset) - 1, min(games, len(dataset))).round().astype(int).tolist()
    clips = clips_of(dataset.select([*dict.fromkeys([best_of(summary), *even])][:games]))
    best = f"{np.nanmax(summary.metres):.1f} m" if np.isfinite(summary.metres).any() else f"{summary.returns.max():.1f}"
    headline = [("episodes", f"{summary.episodes:,}"), ("decisions", f"{summary.steps.sum():,}"), ("best", best)]
    parts = [f"<h1>{escape(title)}</h1>", tiles(headline), *([player(clips)] if clips else [])]
    parts += ["<h2>Statistics</h2>", facts(summary.rows())]
    parts += ["<h2>Distances and endings</h2>", f'<div class="charts">{"".join(charts(summary))}</div>']
    if clips:
        keys = "".join(f'<span><b style="background: rgb{colour}"></b>{name}</span> ' for name, colour in KEYS.items())
        parts.append(f'<h2>Keys</h2><p class="note legend">A band for each game, up to half a minute: {keys}</p>')
        file = io.BytesIO()
        key_raster(clips[:RASTERS]).quantize(128, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        data = base64.b64encode(file.getvalue()).decode()
        parts.append(f'<div class="scroll"><img class="raster" alt="Keys" src="data:image/png;base64,{data}"></div>')
    return page(title, "".join([*parts, made_by]))


def clips_of(dataset: Dataset) -> list[Clip]:
    """The clips of the episodes that can be drawn."""
    clips = []
    for path, episode in zip(dataset.files, dataset, strict=True):
        with suppress(BadInput):  # of another environment: nothing to draw from
            clips.append(clip_of(episode, dataset.info, clip_title(episode, episode_number(path))))
    return clips


def best_of(summary: Summary) -> int:
    """Index of the best episode: the quickest of those that finished, else the farthest, else by its return."""
    if (finished := summary.ends == "finished").any():  # whose torso may land just before the line
        return int(np.where(finished, summary.seconds, np.inf).argmin())
    metres = np.nan_to_num(summary.metres, nan=-np.inf)
    return int((metres if np.isfinite(metres).any() else summary.returns).argmax())


def charts(summary: Summary) -> list[str]:
    """The shares of all episodes by distance or return, and by their ends."""
    ends: Mapping[str, Points] = {
        f"{name} {count}": shares_below(summary.steps[summary.ends == name].astype(np.float64))
        for name, count in summary.outcomes.items()
    }
    far, name = (summary.metres, "metres") if np.isfinite(summary.metres).any() else (summary.returns, "return")
    return [
        line_chart("share of episodes", {name: shares_below(far[np.isfinite(far)])}, [], name),
        line_chart("share of each ending", ends, [], "decisions"),
    ]


def key_raster(clips: Sequence[Clip]) -> Image.Image:
    """A band for each game, in it a row for each of Q, W, O and P, coloured while the key is down."""
    frames = min(max(len(clip.rows) - 1 for clip in clips), LONGEST)
    band = len(KEYS) * LANE + GAP
    picture = np.full((band * len(clips), frames * FRAME, 3), 255, dtype=np.uint8)
    for number, clip in enumerate(clips):
        keys = clip.rows[1 : frames + 1, POSE + 2].astype(np.uint8)
        picture[number * band : number * band + len(KEYS) * LANE, : len(keys) * FRAME] = (238, 241, 246)
        for row, colour in enumerate(KEYS.values()):
            down = np.repeat((keys & 1 << row) != 0, FRAME)
            picture[number * band + row * LANE :, : len(down)][:LANE, down] = colour
    return Image.fromarray(picture)


command = Command(
    "dataset report",
    ReportSettings,
    run,
    about="Write a page of pictures of a dataset: games to watch, distances, endings, keys and players.",
    examples=[("qwop-dataset report data/me", "")],
)
