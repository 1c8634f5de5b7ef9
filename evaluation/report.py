"""Figures of an evaluation as rows of text, and `report.html`: a page with figures, charts, games and the best game."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ..common.charts import Points, line_chart, shares_below
from ..common.page import facts, figures, origin, page, tiles, video
from ..envs.pictures.player import Clip, player, rows_of_game, rows_of_replay
from .evaluate import Evaluation
from .figures import GameResult
from .keys_game import KeysGame

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
    of_start = "" if summary["episodes"] == len(evaluation.results) else ", any start"
    return [(f"{name}{of_start}", value) for name, value in figures]


def figure(figures: dict[str, Any], name: str, unit: str) -> str:
    """A figure with its unit and its interval, if any."""
    if figures[name] is None:
        return "none"
    interval = figures.get(f"{name}_interval")
    between = f" {INTERVAL}{interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    return f"{figures[name]:.2f} {unit}".rstrip() + between


EXACT = "Every number of idle frames was played once, so the figures are exact. "
BETWEEN = "In brackets: 95 % intervals of the mean. "
SHARES = "Curves of shares show the fraction of games up to a value."


def evaluation_page(
    evaluation: Evaluation, name: str, command: str, settings: str, *, late: Evaluation | None, film: Path | None
) -> str:
    """The page of a policy's evaluation.

    name: of the policy. command: its line; settings: as YAML. late: the same with late decisions. film: of the
    best game, shown where the player cannot draw it.
    """
    columns, rows = figure_rows(evaluation)
    if late is not None:
        columns = [*columns, "late decisions"]
        rows = [[*row, value] for row, value in zip(rows, _late_values(late), strict=True)]
    parts = [
        f"<h1>Evaluation of {escape(name)}</h1>",
        f'<p class="note">{escape(f"{evaluation.environment}, {how(evaluation)}")}</p>',
        tiles(headline(evaluation)),
        best_game(evaluation, film),
        "<h2>Figures</h2>",
        figures(["", *columns], [[cell.replace(INTERVAL, "(") for cell in row] for row in rows]),
        f'<p class="note">{EXACT if evaluation.exact else BETWEEN}{SHARES}</p>',
        f'<div class="charts">{"".join(charts({"": evaluation.any_start}, late))}</div>',
        _games(evaluation.results),
        origin(command, settings),
    ]
    return page(f"{name}: evaluation", "".join(parts))


def keys_page(game: KeysGame, name: str, rows: Sequence[tuple[str, str]], command: str, settings: str) -> str:
    """The page of a game of given keys, with `rows` of facts about it."""
    clip = player([Clip(name, rows_of_replay(game.replay, game.keys))])
    return page(
        f"{name}: replay", f"<h1>{escape(name)}</h1>{facts(rows)}<h2>Game</h2>{clip}{origin(command, settings)}"
    )


def charts(games: Mapping[str, Sequence[GameResult]], late: Evaluation | None = None) -> list[str]:
    """Charts of games, given by the names of their lines; an empty text for a chart without data."""
    lines = dict(games)
    if late is not None:
        lines = {**{name or "in time": results for name, results in games.items()}, "late decisions": late.any_start}
    runs = all(one.metres is not None for results in lines.values() for one in results)

    def shares(values: str) -> dict[str, Points]:
        return {name: shares_below(_numbers(results, values)) for name, results in lines.items()}

    parts = [line_chart("share of games, by return", shares("reward"), [], "return")]
    if runs:
        parts.insert(0, line_chart("share of games, by distance", shares("metres"), [], "metres"))
        parts.insert(0, line_chart("share of games finished, by time", _finishes(lines), [], "seconds"))
    return parts


def best_game(evaluation: Evaluation, film: Path | None) -> str:
    """The best game in the player, or its film; an empty text without either."""
    best = evaluation.best
    heading = f"<h2>Best of all {len(evaluation.results):,} games, number {best.index}</h2>"
    if best.keys is not None:
        return heading + player([Clip(f"game {best.index}", rows_of_game(np.concatenate(best.keys)))])
    return heading + video(film) if film is not None and film.exists() else ""


def _late_values(late: Evaluation) -> list[str]:
    columns, rows = figure_rows(late)
    place = len(columns)  # the last kind of start, or the only one
    return [row[place] for row in rows]


def _numbers(results: Sequence[GameResult], name: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([getattr(one, name) for one in results], dtype=np.float64)


def _finishes(games: Mapping[str, Sequence[GameResult]]) -> dict[str, Points]:
    """Share of all games that have finished by each time."""
    lines = {}
    for name, results in games.items():
        finishers = [one for one in results if one.finished]
        share = len(finishers) / len(results)
        lines[name] = [(seconds, part * share) for seconds, part in shares_below(_numbers(finishers, "seconds"))]
    return lines


def _games(results: Sequence[GameResult]) -> str:
    """A table of all games, folded."""
    runs = all(one.metres is not None for one in results)
    names = ["game", "end", "decisions", "return", *(["idle frames", "metres", "seconds"] if runs else [])]
    rows = []
    for one in results:
        row = [str(one.index), one.outcome, f"{one.decisions:,}", f"{one.reward:.1f}"]
        rows.append(row + ([str(one.idle_frames), f"{one.metres:.1f}", f"{one.seconds:.2f}"] if runs else []))
    return f"<h2>Games</h2><details><summary>all {len(results):,} games</summary>{figures(names, rows)}</details>"
