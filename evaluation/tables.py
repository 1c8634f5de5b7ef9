"""Figures of an evaluation as rows of text, for the terminal and for the report."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.table import Table

from .evaluate import Evaluation

INTERVAL = "(95 %: "
"""Beginning of an interval."""


def table(evaluation: Evaluation, title: str) -> Table:
    """The figures of each kind of start side by side, as a table to print."""
    columns, rows = figure_rows(evaluation)
    figures = Table("", *columns, title=f"{title}, {how(evaluation)}\n{evaluation.environment}", title_justify="left")
    for row in rows:
        figures.add_row(*row)
    return figures


def how(evaluation: Evaluation) -> str:
    """The choice of the actions in words."""
    return "most probable actions" if evaluation.settings.greedy else "actions drawn"


def figure_rows(evaluation: Evaluation) -> tuple[list[str], list[list[str]]]:
    """Names of the columns, one for each kind of start, and the rows: the name of a figure, and its values."""
    columns = {str(start): evaluation.figures(games) for start, games in evaluation.by_start.items()}
    columns = columns or {"": evaluation.summary()}
    return [*columns], rows_of([*columns.values()], evaluation)


def rows_of(columns: Sequence[dict[str, Any]], evaluation: Evaluation) -> list[list[str]]:
    """The name of each figure that games like those of `evaluation` have, and its value in each of the columns."""
    games = "every start once" if evaluation.exact else f"drawn by seed {evaluation.settings.seed}"
    rows: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("games", lambda of: f"{of['episodes']}, {games}"),
    ]
    if evaluation.has_metres:
        rows += [
            ("finished", lambda of: f"{of['finishes']} of {of['episodes']}"),
            ("best time", lambda of: figure(of, "best_seconds", "s")),
            ("median time", lambda of: figure(of, "median_seconds", "s")),
            ("mean time", lambda of: figure(of, "mean_seconds", "s")),
            ("mean distance", lambda of: figure(of, "mean_metres", "m")),
            ("best distance", lambda of: figure(of, "best_metres", "m")),
        ]
    rows += [
        ("mean return", lambda of: figure(of, "mean_return", "")),
        ("best return", lambda of: figure(of, "best_return", "")),
    ]
    return [[name, *map(value, columns)] for name, value in rows]


def headline(evaluation: Evaluation) -> list[tuple[str, str]]:
    """The most important figures, (name, figure), with the start that they count if the games have several."""
    summary = evaluation.summary()
    if not evaluation.has_metres:
        names = {"mean return": "mean_return", "best return": "best_return"}
        return [("games", f"{summary['episodes']:,}"), *((name, f"{summary[key]:.2f}") for name, key in names.items())]
    seconds = [("median time", summary["median_seconds"]), ("best time", summary["best_seconds"])]
    figures = [
        ("games finished", f"{summary['finishes']:,} of {summary['episodes']:,}"),
        *((name, f"{second:.2f} s") for name, second in seconds if second is not None),
        ("best distance", f"{summary['best_metres']:.2f} m"),
    ]
    counted = "" if summary["episodes"] == len(evaluation.results) else ", any start"
    return [(f"{name}{counted}", value) for name, value in figures]


def figure(figures: dict[str, Any], name: str, unit: str) -> str:
    """A figure with its unit and its interval, if any."""
    if figures[name] is None:
        return "none"
    interval = figures.get(f"{name}_interval")
    between = f" {INTERVAL}{interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    return f"{figures[name]:.2f} {unit}".rstrip() + between
