"""Measurements of a run between two rows of its log."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .experience.collector import EpisodeStats
from .experience.sequences import SOURCES


@dataclass(frozen=True)
class UpdateStats:
    """Statistics of one update: over the whole batch, and by source."""

    scalars: dict[str, float]
    by_source: dict[str, dict[str, float]]


def means_by_source(source: NDArray[np.int8], **figures: Any) -> dict[str, dict[str, float]]:
    """Mean of each figure, an array or tensor [n, ...], over the items of each source in `source`, int8 [n]."""
    found = {}
    for number, name in enumerate(SOURCES):
        mine = source == number
        if mine.any():
            found[name] = {figure: float(values[mine].mean()) for figure, values in figures.items()}
    return found


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
        known = [getattr(end, name) for end in ends if getattr(end, name) is not None]
        if known:
            row[f"live/{figure}"] = float(np.mean(known))
    seconds = [end.seconds for end in ends if end.finished and end.seconds is not None]
    if seconds:
        row["live/seconds_of_finishers"] = float(np.mean(seconds))
        row["live/best_seconds"] = float(np.min(seconds))
    return row


def _means(updates: list[UpdateStats]) -> dict[str, float]:
    gathered: dict[str, list[float]] = {}
    for stats in updates:
        for name, value in stats.scalars.items():
            gathered.setdefault(f"learner/{name}", []).append(value)
        for source, numbers in stats.by_source.items():
            for name, value in numbers.items():
                gathered.setdefault(f"{source}/{name}", []).append(value)
    return {name: float(np.mean(values)) for name, values in gathered.items()}
