"""The log of a run: rows of numbers at regular intervals, in `metrics.jsonl` and for a tracker."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..common.files import write_atomic
from ..common.reading import MEGABYTE, read_rows
from ..common.tracker import TENSORBOARD, Tracker, open_tracker
from .metrics import Metrics

METRICS = "metrics.jsonl"

SPEED = "speed/decisions_per_second"
"""Column of a log's rows."""

LARGEST_LOG = 256 * MEGABYTE
"""Largest size in bytes; a row takes about a kilobyte."""

EVALUATED = ("finish_share", "best_seconds", "median_seconds", "mean_metres", "mean_return")
"""Figures of an evaluation that the tracker shows."""


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
            kept = [row for row in read_metrics(self._folder) if row["decisions"] <= resume_at]
            write_atomic(path, "".join(json.dumps(row) + "\n" for row in kept))
            if kept:
                self._seconds, self._frames = kept[-1].get("time/seconds", 0.0), kept[-1].get("live/frames", 0)
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
        named = {
            f"evaluation/{kind}_{name}": float(figures[name]) for name in EVALUATED if figures.get(name) is not None
        }
        self._show(named, decisions)

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
