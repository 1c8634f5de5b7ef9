"""Comparison of rows of runs, by the command line and from Python: its tables, notes and page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from json import dumps
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from ..common.charts import line_chart
from ..common.errors import BadInput
from ..common.files import write_atomic
from ..common.page import figures, page
from ..common.run_folder import REPORT
from .results import TIMES, Plain, estimate, lines_of, mean, milestones_of, read_row
from .runner import Row, jobs_of, run_missing


@dataclass(frozen=True)
class Comparison:
    """Rows compared.

    table: a line for each figure and row, with means, intervals and differences. results: these lines with each seed's
    value, milestones, each run's figures, and the last lines of runs that failed. curves: the logs of all runs. page:
    the report, HTML.
    """

    table: pd.DataFrame
    results: Plain
    curves: pd.DataFrame
    page: str


def compare(
    rows: Mapping[str, Row],
    *,
    seeds: int | Sequence[int] = 3,
    jobs: int = 1,
    out: str | Path | None = None,
    against: str | None = None,
    title: str = "qwop-compare",
) -> Comparison:
    """Compare rows of runs by their figures over seeds; run what is missing.

    A row is a folder of a finished run, several, or a pattern such as `runs/with-*`; or a command line, or several in
    order; or {"command": …, "settings": {…}, "seeds": …}. Rows whose names begin with _ are run for others, and not
    compared. seeds: their number (0, 1, …), or a list. jobs: runs side by side. out: folder of runs, tables and
    report; None leaves no files. against: row that the others are compared with, else the last one. Raises BadInput
    for rows that cannot be read, run or compared.
    """
    with TemporaryDirectory() as temporary:
        folder = Path(temporary if out is None else out)
        work = jobs_of(rows, seeds, folder)
        failures = run_missing(work, jobs)
        places = {name: [row] if isinstance(row, str) else [*row] for name, row in rows.items()}
        for name in {job.row for job in work}:
            places[name] = [str(job.folder) for job in work if job.row == name and job.folder not in failures]
        compared = {name: read_row(name, every) for name, every in places.items() if every and not name.startswith("_")}
    if not compared:
        raise BadInput(f"nothing to compare: {next(iter(failures.values()), 'give rows')}")
    curves = pd.concat(
        pd.DataFrame(run.pop("log")).assign(environment=run["environment"], row=row, seed=run["seed"])
        for row, runs in compared.items() for run in runs
    )  # fmt: skip
    lines, failed = [*lines_of(compared, against)], {place.name: last for place, last in failures.items()}
    results = {"lines": lines, "milestones": [*milestones_of(curves)], "rows": compared, "failed": failed}
    markdown, html = _reports(title, results, curves)
    if out is not None:
        write_atomic(folder / "results.json", dumps(results, indent=1) + "\n")
        write_atomic(folder / "table.md", markdown)
        write_atomic(folder / "curves.csv", curves.to_csv(index=False))
        write_atomic(folder / REPORT, html)
    return Comparison(pd.DataFrame(lines).drop(columns="values"), results, curves, html)


NOTE = """In brackets: 95 % bootstrap intervals, which resample seeds; those of few seeds are too narrow. A single seed
has none, and says little about the next one. Differences marked * are of unpaired runs: the rows share fewer than two
seeds. With schedule.keep=best the same games chose the policy, so that their figures are a little too good."""

Table = tuple[str, list[str], list[list[str]]]
"""A heading, the names of the columns, and the rows."""

CURVES = {
    "live/finish_share": "share of games finished", "live/metres": "metres",
    "live/seconds_of_finishers": "seconds to the finish", "live/return": "return of a game",
}  # fmt: skip
"""Columns of the logs that are drawn; the return where games have no metres."""
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
            [line["row"], f"{line['seeds']} of {line['runs']}", *(_cell(line, name) for name in names)]
            for line in every
        ]
        yield heading, ["", "seeds", *names.values()], cells
    for environment, group in groupby(milestones, lambda line: line["environment"]):
        cells = [[one if isinstance(one, str) else _number(one) for one in map(line.get, MILESTONES)] for line in group]
        yield f"{environment}: milestones of live play, medians", MILESTONES, cells


def _reports(title: str, results: Plain, curves: pd.DataFrame) -> tuple[str, str]:
    """Tables, notes and the commands of each row in Markdown, and the page, which has learning curves, too."""
    text, html = list[str](), [f"<h1>{escape(title)}</h1>"]
    for heading, names, cells in tables_of(results["lines"], results["milestones"]):
        text.append(f"## {heading}\n\n{markdown_table(names, cells)}")
        html.append(f"<h2>{escape(heading)}</h2>{figures(names, cells)}")
    for note in [*(f"Failed: {name}: {last}" for name, last in results["failed"].items()), NOTE]:
        text.append(note)
        html.append(f'<p class="note">{escape(note)}</p>')
    for environment, group in curves.groupby("environment", sort=False):
        charts = _charts(group.dropna(axis="columns", how="all"))  # without the columns of other environments
        html.append(f'<h2>{escape(str(environment))}: live play</h2><div class="charts">{charts}</div>')
        html.append('<p class="note">Means over seeds, as far as all have played; shaded: 95 % intervals.</p>')
    for row, runs in results["rows"].items():  # one command for all, if they differ in nothing but their seeds
        name = f"{row}, seeds {', '.join(str(run['seed']) for run in runs)}"
        commands = "\n".join(dict.fromkeys(run["command"] for run in runs))
        text.append(f"```sh\n# {name}\n{commands}\n```")
        html.append(f"<h2>{escape(name)}</h2><pre>{escape(commands)}</pre>")
    return "\n\n".join(text) + "\n", page(title, "".join(html))


def markdown_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    above, *lines = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in (names, *rows))
    return "\n".join([f"| {above} |", f"|{'---|' * len(names)}", *(f"| {line} |" for line in lines)])


def _charts(curves: pd.DataFrame) -> str:
    """Charts of an environment's curves: means over seeds, at places that all of a row's seeds reach."""
    charts = ""
    for column, title in CURVES.items():
        if column not in curves or (column == "live/return" and "live/metres" in curves):
            continue
        for axis, x_name in zip(TIMES, ("decisions", "seconds of computing"), strict=True):
            lines, around = {}, {}
            for row, logs in curves.dropna(subset=column).groupby("row", sort=False):
                every = [log[[axis, column]].to_numpy().T for _, log in logs.groupby("seed")]
                first, last = max(one[0, 0] for one in every), min(one[0, -1] for one in every)
                x = np.unique(np.linspace(min(first, last), last, 60))
                y, *ends = estimate(mean, [np.interp(x, *one) for one in every])
                lines[str(row)] = [*zip(x, y, strict=True)]
                if len(every) > 1:
                    around[str(row)] = [*zip(x, *ends, strict=True)]
            charts += line_chart(title, lines, [], x_name, around=around)
    return charts


def _cell(line: Plain, name: str) -> str:
    """A figure with its interval; – where the line has none."""
    value, low, high = (line.get(f"{name}{end}") for end in ("", "_low", "_high"))
    mark = " *" if name == "difference" and line.get("paired") is False else ""
    return _number(value) + (f" ({_number(low)} to {_number(high)})" if low is not None else "") + mark


def _number(value: float | None) -> str:
    """Four digits, or the whole part of a larger number."""
    return "–" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
