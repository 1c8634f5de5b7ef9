"""Results of a pretraining run, as tables to print and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ..common.files import write_atomic
from ..evaluation.evaluate import Evaluation
from .held_out import HeldOut
from .measures import Measures


def measures_table(splits: Sequence[HeldOut]) -> Table:
    """One row per predictor: means over the splits, ± their standard deviation if there are several splits."""
    decisions = sum(next(iter(split.measures.values())).rows for split in splits)
    held_out = "the only episode, which the clone learned from" if splits[0].learned else "episodes held out"
    title = f"{decisions:,} decisions of {held_out}" + (f", {len(splits)} splits" if len(splits) > 1 else "")
    table = Table("", title=title, title_justify="left")
    for column in ("accuracy", "nats", "calibration error"):
        table.add_column(column, justify="right")
    for name in splits[0].measures:
        found = [split.measures[name] for split in splits]
        table.add_row(
            name,
            _mean([one.accuracy for one in found], ".1%"),
            _mean([one.nats for one in found], ".3f"),
            _mean([one.calibration_error for one in found], ".3f"),
        )
    return table


FIGURES = {
    "games": ("episodes", "d"), "mean return": ("mean_return", ".1f"), "mean metres": ("mean_metres", ".1f"),
    "best metres": ("best_metres", ".1f"), "finished": ("finishes", "d"),
}  # fmt: skip
"""Columns of the table of games: a figure of `Evaluation.summary` and its format."""


def games_table(evaluations: Sequence[Evaluation]) -> Table:
    """One row per evaluation of the clone; a column for each figure that the environment's games have."""
    table = Table("", title="games of the clone", title_justify="left")
    found = [evaluation.summary() for evaluation in evaluations]
    shown = {name: figure for name, figure in FIGURES.items() if any(figure[0] in one for one in found)}
    for column in shown:
        table.add_column(column, justify="right")
    for evaluation, figures in zip(evaluations, found, strict=True):
        cells = [format(figures[name], form) if figures.get(name) is not None else "–" for name, form in shown.values()]
        table.add_row("greedy" if evaluation.settings.greedy else "drawn", *cells)
    return table


def write_json(path: Path, dataset: str, splits: Sequence[HeldOut], evaluations: Sequence[Evaluation]) -> None:
    """Write `pretraining.json`: the means over the splits, each split, and the figures of the games."""
    names = list(splits[0].measures)
    document: dict[str, Any] = {
        "dataset": dataset,
        "held_out": {name: _means([split.measures[name] for split in splits]) for name in names},
        "splits": [asdict(split) for split in splits],
        "games": [{"greedy": one.settings.greedy, **one.summary()} for one in evaluations],
    }
    write_atomic(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def _means(found: Sequence[Measures]) -> dict[str, float]:
    return {
        name: float(np.mean([getattr(one, name) for one in found]))
        for name in ("accuracy", "nats", "calibration_error")
    }


def _mean(values: list[float], form: str) -> str:
    mean = format(float(np.mean(values)), form)
    return f"{mean} ± {format(float(np.std(values, ddof=1)), form)}" if len(values) > 1 else mean
