"""Comparison of rows of runs, by the command line and from Python: its tables, notes and page."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, product
from json import dumps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from ..common.charts import Interval, Points, line_chart
from ..common.errors import BadInput, quoted
from ..common.files import write_atomic
from ..common.page import figures, page
from ..common.run_folder import REPORT, override
from .results import COVERAGE, Plain, Rows, by_environment, lines_of, mean_curve, milestones_of, read_row
from .runner import jobs_of, run_missing

Row = str | Sequence[str] | Mapping[str, Any]

HELPER = "_"
"""Beginning of the names of rows that are run for others alone."""


@dataclass(frozen=True)
class Comparison:
    """Rows compared.

    table: a line for each figure and row, with means, intervals and differences. results: these lines with each seed's
    value, milestones, each run's figures, and the last lines of runs that failed. curves: the logs of all runs. page,
    markdown: the report, and its tables.
    """

    table: pd.DataFrame
    results: Plain
    curves: pd.DataFrame
    page: str
    markdown: str


def compare(
    rows: Mapping[str, Row],
    *,
    seeds: int | Sequence[int] = 3,
    jobs: int = 1,
    out: str | Path | None = None,
    against: str | None = None,
    goal: float | None = None,
    title: str = "qwop-compare",
) -> Comparison:
    """Compare rows of runs by their figures over seeds; run what is missing.

    A row is a folder of a finished run, several, or a pattern such as `runs/with-*`; or a command line, or several in
    order; or {"command": …, "settings": {…}, "seeds": …}. Rows whose names begin with _ are run for others, and not
    compared. seeds: their number (0, 1, …), or a list. jobs: runs side by side. out: folder of runs, tables and
    report; None leaves no files. against: row that the others are compared with, else the last one. goal: return from
    which a game counts as solved. Raises BadInput for rows that cannot be read, run or compared.
    """
    with TemporaryDirectory() as temporary:
        folder = Path(temporary if out is None else out)
        lines_of_rows = {name: commands_of(name, row, seeds) for name, row in rows.items()}
        jobs_of_rows = jobs_of({name: row for name, row in lines_of_rows.items() if _is_command(row[0][0])}, folder)
        failures = run_missing([job for every in jobs_of_rows.values() for job in every], jobs)
        places = {name: lines for name, (lines, _) in lines_of_rows.items()}
        places |= {
            name: [str(job.folder) for job in every if job.folder not in failures]
            for name, every in jobs_of_rows.items()
        }
        compared = {name: read_row(name, one) for name, one in places.items() if one and not name.startswith(HELPER)}
    if not compared:
        raise BadInput(f"nothing to compare: {next(iter(failures.values()), 'give rows')}")
    lines, milestones = [*lines_of(compared, against, goal)], [*milestones_of(compared, goal)]
    last_lines = {place.name: last for place, last in failures.items()}
    notes = [*(f"Failed: {name}: {last}" for name, last in last_lines.items()), *notes_of(compared, lines)]
    tables = [*tables_of(lines, milestones)]
    curves = [pd.DataFrame(run.log).assign(row=name, seed=run.seed) for name, runs in compared.items() for run in runs]
    comparison = Comparison(
        pd.DataFrame(lines).drop(columns="values"),
        {
            "lines": lines,
            "milestones": milestones,
            "rows": {name: [run.to_json() for run in runs] for name, runs in compared.items()},
            "failed": last_lines,
        },
        pd.concat(curves),
        page_of(title, compared, tables, notes),
        markdown_of(compared, tables, notes),
    )
    if out is not None:
        write_atomic(folder / "results.json", dumps(comparison.results, indent=1) + "\n")
        write_atomic(folder / "table.md", comparison.markdown)
        write_atomic(folder / "curves.csv", comparison.curves.to_csv(index=False))
        write_atomic(folder / REPORT, comparison.page)
    return comparison


def commands_of(name: str, row: Row, seeds: int | Sequence[int]) -> tuple[list[str], list[int]]:
    """A row's command lines or places, and its seeds; BadInput for anything else."""
    if isinstance(row, Mapping):
        if unknown := sorted(row.keys() - {"command", "settings", "seeds"}):
            raise BadInput(f"{name}: {quoted(unknown[0])} is unknown; expected command, settings and seeds")
        seeds, settings = row.get("seeds", seeds), row.get("settings", {})
        *before, last = [one] if isinstance(one := row.get("command", "qwop-finetune"), str) else one
        row = [*before, " ".join([last, *(shlex.quote(override(key, value)) for key, value in settings.items())])]
    lines = [*row] if isinstance(row, Sequence) and not isinstance(row, str) else [row]
    numbers = [*range(seeds)] if isinstance(seeds, int) else [*seeds]
    if not lines or not all(isinstance(line, str) and line for line in lines):
        raise BadInput(f"{name}: {quoted(row)}, expected folders of finished runs, or command lines")
    if not numbers or not all(type(one) is int and one >= 0 for one in numbers):
        raise BadInput(f"{name}: seeds={quoted(seeds)}, expected a number of seeds, or a list of them")
    return lines, numbers


def _is_command(line: str) -> bool:
    return line.startswith(("qwop-", "python "))


Table = tuple[str, list[str], list[list[str]]]
"""A heading, the names of the columns, and the rows."""

CURVES = {
    "live/finish_share": "share of games finished", "live/metres": "metres",
    "live/seconds_of_finishers": "seconds to the finish", "live/return": "return of a game",
}  # fmt: skip
"""Columns of the logs that are drawn; the return where games have no metres."""
AXES = {"decisions": "decisions", "time/seconds": "seconds of computing"}
MILESTONES = ["milestone", "row", "reached", "seeds", "decisions", "seconds"]


def tables_of(lines: Sequence[Plain], milestones: Sequence[Plain]) -> Iterator[Table]:
    """Yield a table for each figure, then one of the milestones of each environment."""
    for heading, group in groupby(
        lines, lambda line: f"{line['environment']}: {line['figure']}, {line['games']} games"
    ):
        every, names = [*group], {"mean": "mean", "iqm": "interquartile mean"}
        for control in [line["against"] for line in every if "against" in line][:1]:
            names |= {"difference": f"difference from {control}", "improvement": "probability of improvement"}
        cells = [
            [line["row"], f"{line['seeds']} of {line['runs']}", *(_cell(line, name) for name in names), _each(line)]
            for line in every
        ]
        yield heading, ["", "seeds", *names.values(), "each seed"], cells
    for environment, group in groupby(milestones, lambda line: line["environment"]):
        cells = [[one if isinstance(one, str) else _number(one) for one in map(line.get, MILESTONES)] for line in group]
        yield f"{environment}: milestones of live play, medians", MILESTONES, cells


def notes_of(rows: Rows, lines: Sequence[Plain]) -> Iterator[str]:
    """Yield sentences on how far the figures can be trusted."""
    counts = sorted({line["seeds"] for line in lines} - {0, 1})
    if counts:
        least = max(one for one in COVERAGE if one <= counts[0])
        yield (
            f"In brackets: 95 % bootstrap intervals, which resample seeds. With {least} seeds they hold the true mean "
            f"in about {COVERAGE[least]} of 100 cases."
        )
    if single := dict.fromkeys(line["row"] for line in lines if line["seeds"] == 1):
        yield f"A single seed has no interval and says little about the next one: {', '.join(single)}."
    if any(line.get("paired") is False for line in lines):
        yield "Differences marked * are of unpaired runs: the rows share fewer than two seeds."
    if any(run.is_best for runs in rows.values() for run in runs):
        yield (
            "Some runs kept the best of several evaluations, by these very games, so their figures are a little too "
            "good; qwop-evaluate with another seed plays fresh ones."
        )


def page_of(title: str, rows: Rows, tables: Sequence[Table], notes: Sequence[str]) -> str:
    """The page: tables, notes, learning curves, and the commands of each row."""
    parts = [f"<h1>{escape(title)}</h1>"]
    parts += [f"<h2>{escape(heading)}</h2>{figures(names, cells)}" for heading, names, cells in tables]
    parts += [f'<p class="note">{escape(note)}</p>' for note in notes]
    for environment, group in by_environment(rows).items():
        if charts := "".join(_charts(group)):
            parts.append(f'<h2>{escape(environment)}: live play</h2><div class="charts">{charts}</div>')
            parts.append('<p class="note">Means over seeds, as far as all have played; shaded: 95 % intervals.</p>')
    parts += [f"<h2>{escape(name)}</h2><pre>{escape(lines)}</pre>" for name, lines in _commands(rows).items()]
    return page(title, "".join(parts))


def markdown_of(rows: Rows, tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Tables, notes and commands in Markdown."""
    parts = [f"## {heading}\n\n{markdown_table(names, cells)}" for heading, names, cells in tables]
    commands = "\n".join(f"# {name}\n{lines}" for name, lines in _commands(rows).items())
    return "\n\n".join([*parts, *notes, f"```sh\n{commands}\n```"]) + "\n"


def markdown_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    above, *lines = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in (names, *rows))
    return "\n".join([f"| {above} |", f"|{'---|' * len(names)}", *(f"| {line} |" for line in lines)])


def _commands(rows: Rows) -> dict[str, str]:
    """The command lines of each row by its name and seeds: one for all runs, if they differ in nothing else."""
    lines = {name: "\n".join(dict.fromkeys(run.command for run in runs)) for name, runs in rows.items()}
    return {f"{name}, seeds {', '.join(str(run.seed) for run in rows[name])}": one for name, one in lines.items()}


def _charts(group: Rows) -> Iterator[str]:
    for (column, title), (axis, x_name) in product(CURVES.items(), AXES.items()):
        lines: dict[str, Points] = {}
        around: dict[str, list[Interval]] = {}
        for name, runs in group.items():
            if logs := [one for run in runs if (one := _curve(run.log, axis, column))]:
                curve = mean_curve(logs)
                lines[name] = [(x, y) for x, y, _, _ in curve]
                around |= {name: [(x, low, high) for x, _, low, high in curve]} if len(logs) > 1 else {}
        yield line_chart(title, lines, [], x_name, around=around)


def _curve(log: Sequence[Plain], axis: str, column: str) -> Points:
    hidden = column == "live/return" and any("live/metres" in row for row in log)
    return [] if hidden else [(row[axis], row[column]) for row in log if column in row]


def _each(line: Plain) -> str:
    """Each seed's value, behind the seed unless these are 0, 1, …"""
    in_order = [*map(int, line["values"])] == [*range(len(line["values"]))]
    return ", ".join(
        _number(value) if in_order else f"{seed}: {_number(value)}" for seed, value in line["values"].items()
    )


def _cell(line: Plain, name: str) -> str:
    """A figure with its interval; – where the line has none."""
    value, low, high = (line.get(f"{name}{end}") for end in ("", "_low", "_high"))
    mark = " *" if name == "difference" and line.get("paired") is False else ""
    return _number(value) + (f" ({_number(low)} to {_number(high)})" if low is not None else "") + mark


def _number(value: float | None) -> str:
    """Four digits, or the whole part of a larger number."""
    return "–" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
