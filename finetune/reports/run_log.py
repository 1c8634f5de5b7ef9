"""What a run says about itself: one row of numbers now and then, to TensorBoard and to `metrics.jsonl`."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.tensorboard import SummaryWriter

from ..agents.acer.learner import Diagnosis
from ..experience.collector import EpisodeEnd
from ..experience.sequences import SOURCES
from .milestones import seconds_of

METRICS = "metrics.jsonl"


class Stopwatch:
    """Seconds by what they were spent on, since the last reading."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Time spent inside counts for this part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[part] = self._seconds.get(part, 0.0) + time.perf_counter() - start

    def read(self) -> tuple[float, dict[str, float]]:
        """Seconds in all, and of each part; starts again from 0."""
        now = time.perf_counter()
        total, parts = now - self._since, self._seconds
        self._since, self._seconds = now, {}
        return total, parts


class RunLog:
    """Gathers episodes and diagnoses until `write` makes a row of them.

    A row is flat: `decisions`, `phase`, and numbers named `group/what`. `time/seconds` (of computing, evaluations
    included) and `live/frames` (of the game, in games that ended) are counted from the beginning of the run on, resumed
    or not. The file is the record that the report is drawn from. Nothing is written before `open`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._board: SummaryWriter | None = None
        self._episodes: list[EpisodeEnd] = []
        self._diagnoses: list[Diagnosis] = []
        self._sampled = np.zeros(len(SOURCES))
        self._seconds, self._frames = 0.0, 0
        self.stopwatch = Stopwatch()

    def open(self, resume_at: int | None = None) -> None:
        """Begin, or go on at so many decisions: later rows, written after the checkpoint, are dropped."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / METRICS
        if resume_at is not None and path.exists():
            kept = [row for row in read_metrics(self._folder) if row["decisions"] <= resume_at]
            path.write_text("".join(json.dumps(row) + "\n" for row in kept))
            if kept:
                self._seconds, self._frames = seconds_of(kept)[-1], kept[-1].get("live/frames", 0)
        self._board = SummaryWriter(str(self._folder / "tensorboard"), purge_step=resume_at)
        path.touch()
        self.stopwatch.read()

    def episodes(self, ends: list[EpisodeEnd]) -> None:
        self._episodes += ends

    def sampled(self, source: NDArray[np.int8], diagnosis: Diagnosis | None) -> None:
        """A batch from memory: the source of each of its sequences, and what the update on it saw."""
        self._sampled += np.bincount(source, minlength=len(SOURCES))
        if diagnosis is not None:
            self._diagnoses.append(diagnosis)

    def learned(self, diagnosis: Diagnosis) -> None:
        """What an update saw that was not on a batch from memory."""
        self._diagnoses.append(diagnosis)

    def write(self, decisions: int, played: int, phase: str, more: dict[str, float]) -> dict[str, Any]:
        """Write a row about what has been gathered since the last one, in which `played` decisions were made."""
        seconds, parts = self.stopwatch.read()
        self._seconds += seconds
        self._frames += sum(end.frames or 0 for end in self._episodes)
        row: dict[str, Any] = {"decisions": decisions, "phase": phase, "time/seconds": self._seconds, **more}
        if self._frames:
            row["live/frames"] = self._frames
        row["speed/decisions_per_second"] = played / seconds
        row |= {f"time_share/{part}": spent / seconds for part, spent in parts.items()}
        row |= _live(self._episodes) | _means(self._diagnoses)
        if self._sampled.any():
            shares = self._sampled / self._sampled.sum()
            row |= {f"sampled/{name}": float(share) for name, share in zip(SOURCES, shares, strict=True)}
        self._episodes, self._diagnoses, self._sampled = [], [], np.zeros(len(SOURCES))
        assert self._board is not None
        with (self._folder / METRICS).open("a") as file:
            file.write(json.dumps(row) + "\n")
        for name, value in row.items():
            if isinstance(value, float):
                self._board.add_scalar(name, value, decisions)
        return row

    def close(self) -> None:
        if self._board is not None:
            self._board.close()


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run, oldest first; a last line that was cut off is left out."""
    rows = []
    for line in (folder / METRICS).read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def _live(ends: list[EpisodeEnd]) -> dict[str, float]:
    if not ends:
        return {}
    row = {
        "live/episodes": float(len(ends)),
        "live/return": float(np.mean([end.total_reward for end in ends])),
        "live/decisions": float(np.mean([end.decisions for end in ends])),
    }
    metres = [end.metres for end in ends if end.metres is not None]
    if metres:
        row["live/metres"] = float(np.mean(metres))
    finished = [end.finished for end in ends if end.finished is not None]
    if finished:
        row["live/finish_share"] = float(np.mean(finished))
    seconds = [end.seconds for end in ends if end.finished and end.seconds is not None]
    if seconds:
        row["live/seconds_of_finishers"] = float(np.mean(seconds))
        row["live/best_seconds"] = float(np.min(seconds))
    return row


def _means(diagnoses: list[Diagnosis]) -> dict[str, float]:
    gathered: dict[str, list[float]] = {}
    for diagnosis in diagnoses:
        for name, value in diagnosis.scalars.items():
            gathered.setdefault(f"learner/{name}", []).append(value)
        for source, numbers in diagnosis.by_source.items():
            for name, value in numbers.items():
                gathered.setdefault(f"{source}/{name}", []).append(value)
    return {name: float(np.mean(values)) for name, values in gathered.items()}
