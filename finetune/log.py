"""The log of a run: rows of numbers at regular intervals, in `metrics.jsonl` and for a tracker."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_rows
from ..common.tracker import TENSORBOARD, Tracker
from .experience.collector import EpisodeStats
from .experience.sequences import SOURCES

METRICS = "metrics.jsonl"

SPEED = "speed/decisions_per_second"
"""Column of a log's rows."""

LARGEST_LOG = 256 * MEGABYTE
"""Largest size in bytes; a row takes about a kilobyte."""


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


class RunLog:
    """Writes rows of numbers into a folder: means over what was added since the last row.

    A row is flat: `decisions`, `phase`, and numbers named `group/figure`. `time/seconds` (of computing, evaluations
    included) counts from the beginning of the run, across resumptions. The report is made from this file. Nothing is
    written before `open`.
    """

    def __init__(self, folder: Path, tracker: str = TENSORBOARD, settings: Mapping[str, object] | None = None) -> None:
        self._since = time.perf_counter()
        self._columns: dict[str, list[float]] = {}
        self._sampled = np.zeros(len(SOURCES))
        self._folder = folder
        self._kind, self._settings = tracker, settings
        self._board: Tracker | None = None
        self._seconds = 0.0

    def add_episodes(self, ends: Sequence[EpisodeStats]) -> None:
        """Add finished live episodes."""
        for end in ends:
            seconds = end.seconds if end.finished else None
            self._add("live", {"return": end.total_reward, "decisions": end.decisions, "metres": end.metres})
            self._add("live", {"finish_share": end.finished, "seconds_of_finishers": seconds})

    def add_batch(self, source: NDArray[np.int8], stats: UpdateStats | None) -> None:
        """Add a batch from memory: the source of each of its items, and the stats of the update on it."""
        self._sampled += np.bincount(source, minlength=len(SOURCES))
        if stats is not None:
            self.add_update(stats)

    def add_update(self, stats: UpdateStats) -> None:
        """Add the stats of an update."""
        self._add("learner", stats.scalars)
        for source, figures in stats.by_source.items():
            self._add(source, figures)

    def _add(self, group: str, figures: Mapping[str, float | None]) -> None:
        for name, value in figures.items():
            if value is not None:
                self._columns.setdefault(f"{group}/{name}", []).append(value)

    def row(self) -> dict[str, float]:
        """Return the means of all that was added, named `group/figure`, and start over."""
        row = {name: float(np.mean(values)) for name, values in self._columns.items()}
        if "live/return" in row:
            row["live/episodes"] = float(len(self._columns["live/return"]))
        if "live/seconds_of_finishers" in row:
            row["live/best_seconds"] = float(np.min(self._columns["live/seconds_of_finishers"]))
        if self._sampled.any():
            shares = self._sampled / self._sampled.sum()
            row |= {f"sampled/{name}": float(share) for name, share in zip(SOURCES, shares, strict=True)}
        self._columns, self._sampled = {}, np.zeros(len(SOURCES))
        return row

    def open(self, resume_at: int | None = None) -> None:
        """Start the log, or continue it at this many decisions: rows after that checkpoint are dropped."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / METRICS
        if resume_at is not None and os.path.lexists(path):
            rows = [row for row in read_metrics(self._folder) if row["decisions"] <= resume_at]
            write_atomic(path, "".join(json.dumps(row) + "\n" for row in rows))
            self._seconds = rows[-1].get("time/seconds", 0.0) if rows else 0.0
        # An interrupt at the wrong moment can delay closing until its next flush.
        self._board = Tracker(self._kind, self._folder, self._settings, resume_at)
        path.touch()
        self._since = time.perf_counter()

    def write(self, decisions: int, span: int, phase: str, more: dict[str, float]) -> dict[str, Any]:
        """Write a row of the metrics since the last one, over `span` decisions."""
        before, self._since = self._since, time.perf_counter()
        seconds = self._since - before
        self._seconds += seconds
        row: dict[str, Any] = {"decisions": decisions, "phase": phase, "time/seconds": self._seconds, **more}
        row |= {SPEED: span / seconds, **self.row()}
        with (self._folder / METRICS).open("a") as file:
            file.write(json.dumps(row) + "\n")
        assert self._board is not None
        self._board.log({name: value for name, value in row.items() if isinstance(value, float)}, decisions)
        return row

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


class Progress(NamedTuple):
    """Decisions made and left (as planned), the name of the current phase, and the newest row of the log."""

    decisions: int
    remaining: int
    phase: str
    row: dict[str, Any]

    def __str__(self) -> str:
        """The phase and the newest figures of its games."""
        if "live/metres" in self.row:
            metres, finishes = self.row["live/metres"], self.row.get("live/finish_share", 0.0)
            return f"{self.phase}: {metres:.1f} m, {finishes:.0%} finish"
        return f"{self.phase}: return {self.row['live/return']:.1f}" if "live/return" in self.row else self.phase
