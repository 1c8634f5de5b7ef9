"""What a pretraining run found, as tables for a person and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ..common.files import write_whole
from .games import Games
from .held_out import HeldOut
from .measures import Measures


def measures_table(splits: Sequence[HeldOut]) -> Table:
    """A row a predictor: means over the splits, with the standard deviation between them where there are several."""
    decisions = sum(next(iter(split.measures.values())).rows for split in splits)
    title = f"{decisions:,} decisions of episodes held out" + (f", {len(splits)} splits" if len(splits) > 1 else "")
    table = Table("", title=title, title_justify="left")
    for column in ("accuracy", "nats", "calibration error"):
        table.add_column(column, justify="right")
    for name in splits[0].measures:
        found = [split.measures[name] for split in splits]
        table.add_row(
            name,
            _told([one.accuracy for one in found], ".1%"),
            _told([one.nats for one in found], ".3f"),
            _told([one.calibration_error for one in found], ".3f"),
        )
    return table


def games_table(played: Sequence[Games]) -> Table:
    """A row a way of playing."""
    table = Table("", title="games of the clone", title_justify="left")
    for column in ("games", "mean return", "mean metres", "best metres", "finished"):
        table.add_column(column, justify="right")
    for games in played:
        numbers = (games.mean_metres, games.best_metres, games.finishes)
        texts = ("–" if number is None else f"{number:.1f}" for number in numbers[:2])
        finishes = "–" if games.finishes is None else str(games.finishes)
        table.add_row(
            "greedy" if games.greedy else "drawn", str(games.count), f"{games.mean_return:.1f}", *texts, finishes
        )
    return table


def write_json(path: Path, dataset: str, splits: Sequence[HeldOut], played: Sequence[Games]) -> None:
    """`pretraining.json`: the means over splits, every split, and the games."""
    names = list(splits[0].measures)
    document: dict[str, Any] = {
        "dataset": dataset,
        "held_out": {name: _means([split.measures[name] for split in splits]) for name in names},
        "splits": [asdict(split) for split in splits],
        "games": [asdict(games) for games in played],
    }
    write_whole(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def _means(found: Sequence[Measures]) -> dict[str, float]:
    return {
        name: float(np.mean([getattr(one, name) for one in found]))
        for name in ("accuracy", "nats", "calibration_error")
    }


def _told(values: list[float], form: str) -> str:
    mean = format(float(np.mean(values)), form)
    return f"{mean} ± {format(float(np.std(values, ddof=1)), form)}" if len(values) > 1 else mean
