"""The log of a run: rows of numbers at regular intervals, in `metrics.jsonl` and for a tracker.

`Metrics` gathers what is between two rows: episodes, statistics of updates, and the time of each part.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_rows
from ..common.tracker import TENSORBOARD, Tracker, open_tracker
from .experience.collector import EpisodeStats
from .experience.sequences import SOURCES

METRICS = "metrics.jsonl"

SPEED = "speed/decisions_per_second"
"""Column of a log's rows."""

LARGEST_LOG = 256 * MEGABYTE
"""Largest size in bytes; a row takes about a kilobyte."""

EVALUATED = ("finish_share", "best_seconds", "median_seconds", "mean_metres", "mean_return")
"""Figures of an evaluation that the tracker shows."""


@dataclass(frozen=True)
class UpdateStats:
    """Statistics of one update: over the whole batch, and by source."""

    scalars: dict[str, float]
    by_source: dict[str, dict[str, float]]


def means_by_source(source: NDArray[np.int8], **figures: Any) -> dict[str, dict[str, float]]:
    """Mean of each figure, an array or tensor [n, ...], over the items of each source in `source`, int8 [n]."""
    means = {}
    for number, name in enumerate(SOURCES):
        mine = source == number
        if mine.any():
            means[name] = {figure: float(values[mine].mean()) for figure, values in figures.items()}
    return means


def mean_figures(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean over all rows of each figure in the first row."""
    return {name: float(np.mean([row[name] for row in figures])) for name in figures[0]}


class Timer:
    """Seconds spent in each section since the last `read`."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    @contextmanager
    def section(self, part: str) -> Iterator[None]:
        """Context manager: add the time spent inside to this section."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[part] = self._seconds.get(part, 0.0) + time.perf_counter() - start

    def read(self) -> tuple[float, dict[str, float]]:
        """Return the total seconds and those of each section, and reset them to 0."""
        now = time.perf_counter()
        total, parts = now - self._since, self._seconds
        self._since, self._seconds = now, {}
        return total, parts


class Metrics:
    """Accumulates episodes and updates until `row` summarises them."""

    def __init__(self) -> None:
        self.timer = Timer()
        self._episodes: list[EpisodeStats] = []
        self._stats: list[UpdateStats] = []
        self._sampled = np.zeros(len(SOURCES))

    def add_episodes(self, ends: list[EpisodeStats]) -> None:
        """Add finished live episodes."""
        self._episodes += ends

    def add_batch(self, source: NDArray[np.int8], stats: UpdateStats | None) -> None:
        """Add a batch from memory: the source of each of its items, and the stats of the update on it."""
        self._sampled += np.bincount(source, minlength=len(SOURCES))
        if stats is not None:
            self._stats.append(stats)

    def add_update(self, stats: UpdateStats) -> None:
        """Add the stats of an update on live play."""
        self._stats.append(stats)

    @property
    def frames(self) -> int:
        """Game frames of the collected episodes, if known."""
        return sum(end.frames or 0 for end in self._episodes)

    def row(self) -> dict[str, float]:
        """Return the means of everything collected, named `group/figure`, and start over."""
        row = _live(self._episodes) | _means(self._stats)
        if self._sampled.any():
            shares = self._sampled / self._sampled.sum()
            row |= {f"sampled/{name}": float(share) for name, share in zip(SOURCES, shares, strict=True)}
        self._episodes, self._stats, self._sampled = [], [], np.zeros(len(SOURCES))
        return row


def _live(ends: list[EpisodeStats]) -> dict[str, float]:
    if not ends:
        return {}
    row = {
        "live/episodes": float(len(ends)),
        "live/return": float(np.mean([end.total_reward for end in ends])),
        "live/decisions": float(np.mean([end.decisions for end in ends])),
    }
    for name, figure in (("metres", "metres"), ("finished", "finish_share")):
        values = [getattr(end, name) for end in ends if getattr(end, name) is not None]
        if values:
            row[f"live/{figure}"] = float(np.mean(values))
    seconds = [end.seconds for end in ends if end.finished and end.seconds is not None]
    if seconds:
        row["live/seconds_of_finishers"] = float(np.mean(seconds))
        row["live/best_seconds"] = float(np.min(seconds))
    return row


def _means(updates: list[UpdateStats]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for stats in updates:
        for name, value in stats.scalars.items():
            columns.setdefault(f"learner/{name}", []).append(value)
        for source, numbers in stats.by_source.items():
            for name, value in numbers.items():
                columns.setdefault(f"{source}/{name}", []).append(value)
    return {name: float(np.mean(values)) for name, values in columns.items()}


class RunLog:
    """Writes rows of `metrics` into a folder.

    A row is flat: `decisions`, `phase`, and numbers named `group/figure`. `time/seconds` (of computing, evaluations
    included) and `live/frames` (game frames of finished games) count from the beginning of the run, across
    resumptions. The report is made from this file. Nothing is written before `open`.
    """

    def __init__(self, folder: Path, tracker: str = TENSORBOARD, settings: Mapping[str, object] | None = None) -> None:
        self.metrics = Metrics()
        self._folder = folder
        self._kind, self._settings = tracker, settings
        self._board: Tracker | None = None
        self._seconds, self._frames = 0.0, 0

    def open(self, resume_at: int | None = None) -> None:
        """Start the log, or continue it at this many decisions: rows after that checkpoint are dropped."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / METRICS
        if resume_at is not None and os.path.lexists(path):
            rows = [row for row in read_metrics(self._folder) if row["decisions"] <= resume_at]
            write_atomic(path, "".join(json.dumps(row) + "\n" for row in rows))
            if rows:
                self._seconds, self._frames = rows[-1].get("time/seconds", 0.0), rows[-1].get("live/frames", 0)
        # An interrupt at the wrong moment can delay closing until its next flush.
        self._board = open_tracker(self._kind, self._folder, self._settings, resume_at)
        path.touch()
        self.metrics.timer.read()

    def write(self, decisions: int, played: int, phase: str, more: dict[str, float]) -> dict[str, Any]:
        """Write a row of the metrics since the last one, over `played` decisions."""
        seconds, parts = self.metrics.timer.read()
        self._seconds += seconds
        self._frames += self.metrics.frames
        row: dict[str, Any] = {"decisions": decisions, "phase": phase, "time/seconds": self._seconds, **more}
        if self._frames:
            row["live/frames"] = self._frames
        row[SPEED] = played / seconds
        row |= {f"time_share/{part}": spent / seconds for part, spent in parts.items()}
        row |= self.metrics.row()
        with (self._folder / METRICS).open("a") as file:
            file.write(json.dumps(row) + "\n")
        self._show({name: value for name, value in row.items() if isinstance(value, float)}, decisions)
        return row

    def evaluated(self, decisions: int, figures: Mapping[str, Any], kind: str) -> None:
        """Log an evaluation's figures after this many decisions to the tracker, as `evaluation/<kind>_<figure>`."""
        numbers = {
            f"evaluation/{kind}_{name}": float(figures[name]) for name in EVALUATED if figures.get(name) is not None
        }
        self._show(numbers, decisions)

    def _show(self, figures: Mapping[str, float], decisions: int) -> None:
        assert self._board is not None
        self._board.log(figures, decisions)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run, oldest first."""
    return read_rows(folder / METRICS, LARGEST_LOG, _is_row)


def _is_row(row: object) -> bool:
    """True for a row written by `RunLog.write`."""
    return (
        isinstance(row, dict)
        and type(row.get("decisions")) is int
        and isinstance(row.get("phase"), str)
        and all(isinstance(value, int | float) for name, value in row.items() if name != "phase")
        and row.get(SPEED, 0) > 0
    )
