"""Comparison of rows of runs, by the command line and from Python."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from ..common.errors import BadInput, quoted
from ..common.files import write_atomic
from ..common.run_folder import REPORT, override
from .report import markdown_of, notes_of, page_of, tables_of
from .results import lines_of, milestones_of
from .runner import jobs_of, run_missing
from .runs import Plain, read_row

Row = str | Sequence[str] | Mapping[str, Any]

NOT_SHOWN = "_"
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
        compared = {name: read_row(name, one) for name, one in places.items() if one and not name.startswith(NOT_SHOWN)}
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
