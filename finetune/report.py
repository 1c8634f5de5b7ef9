"""`report.html`: the report of a run, one file that needs no server."""

from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from ..common.charts import Band, line_chart
from ..common.files import write_atomic
from ..common.page import figures, origin, page, video
from ..common.run_folder import CONFIGURATION, REPORT
from .evaluation import FILM, LIKENESS
from .experience.sequences import SOURCES
from .figures import gain, read_evaluation
from .log import read_metrics

COLUMNS = {
    "episodes": "games",
    "finishes": "finished",
    "best_seconds": "best s",
    "median_seconds": "median s",
    "mean_metres": "mean m",
    "mean_return": "mean return",
    LIKENESS: "the player's actions",
}
"""Figures in the table of evaluations: first of the greedy games, then of the drawn ones."""

EVALUATED = {
    "finishes": "share of the evaluation's games finished", "median_seconds": "median seconds to the finish",
    "mean_return": "mean return",
}  # fmt: skip
"""Charts of the evaluations, and the figure that each shows."""

INTERVALS = "In brackets: 95 % intervals of the mean, unless every number of idle frames was played once."


def write_report(folder: Path, title: str, made_by: str = "", final: str | None = None) -> Path:
    """Write `folder/report.html` from the run's log and, if they exist, `phases/*.json` and `best.mp4`.

    made_by: the command line. final: name of the final policy's evaluation, without its suffix.
    """
    rows = read_metrics(folder)
    parts = [f"<h1>{escape(title)}</h1>"]
    if rows:
        last = rows[-1]["decisions"]
        parts.append(f"<p>{last:,} decisions in {len(rows)} rows of the log. Shaded: phases with demonstrations.</p>")
    evaluations = [(path.stem, read_evaluation(path)) for path in (folder / "phases").glob("*.json")]
    if evaluations:
        evaluations.sort(key=lambda one: (int(one[0].partition("-")[0]), one[1].get("decisions", 0)))
        start, end = evaluations[0][1], dict(evaluations).get(final or "", evaluations[-1][1])
        parts.insert(1, f"<p>From start to end: {gain(start, end)}.</p>")
        parts += ["<h2>Evaluation of the start and of the phases</h2>", _evaluation_table(evaluations, final)]
        parts.append(f'<div class="charts">{"".join(evaluation_charts([one for _, one in evaluations], rows))}</div>')
    film = folder / FILM
    if film.exists():
        parts += ["<h2>The best game of the policy that the run leaves</h2>", video(film)]
    if rows:
        parts += ["<h2>The log</h2>", f'<div class="charts">{"".join(log_charts(rows))}</div>']
    settings = folder / CONFIGURATION
    configuration = settings.read_text(encoding="utf-8") if settings.exists() else ""
    if made_by or configuration:
        parts.append(origin(made_by, configuration))
    return write_atomic(folder / REPORT, page(title, "".join(parts)))


def phase_bands(rows: list[dict[str, Any]], unit: float = 1.0) -> list[Band]:
    """A band for each phase of the log, in `unit` decisions; shaded where demonstrations were in memory."""
    bands: list[Band] = []
    for name, group in groupby(rows, key=lambda row: str(row["phase"])):
        inside = list(group)
        shade = any(row.get("memory/demonstrations", 0.0) > 0 for row in inside)
        bands.append(Band(bands[-1].end if bands else 0.0, inside[-1]["decisions"] / unit, name, shade))
    return bands


GROUPS = ("live", "learner", "demonstrations", "memory", "sampled", "speed")
"""Groups of the log's columns, `group/figure`, in the order of their charts."""

LOGARITHMIC = ("importance weight", "learner: gradient norm")
"""Charts with a logarithmic vertical axis."""


def log_charts(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the charts of the log's columns. Both sources share a chart, and so do parts of 1."""
    unit, x_name, bands = _axis(rows)
    charts: dict[str, dict[str, str]] = {}
    columns = [name.partition("/") for name in dict.fromkeys(name for row in rows for name in row)]
    for group, _, figure in sorted((one for one in columns if one[0] in GROUPS), key=lambda one: GROUPS.index(one[0])):
        if group in SOURCES:
            title, name = figure, group
        elif figure in SOURCES:
            title, name = f"share of {group}", figure
        else:
            title, name = f"{group}: {figure}", figure
        charts.setdefault(title.replace("_", " "), {})[name] = f"{group}/{figure}"
    for title, lines in charts.items():
        points = {
            name: [(row["decisions"] / unit, float(row[column])) for row in rows if column in row]
            for name, column in lines.items()
        }
        yield line_chart(title, points, bands, x_name, log=title in LOGARITHMIC)


def evaluation_charts(evaluations: list[dict[str, Any]], rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the charts of finishes, seconds and returns that the evaluations have, over the phases of the log."""
    unit, x_name, bands = _axis(rows)
    for key, title in EVALUATED.items():
        games = {"greedy": evaluations, "drawn": [{**one, **one.get("drawn", {key: None})} for one in evaluations]}
        lines = {
            name: [
                (one.get("decisions", 0) / unit, float(one[key]) / (one["episodes"] if key == "finishes" else 1))
                for one in documents
                if one.get(key) is not None
            ]
            for name, documents in games.items()
        }
        yield line_chart(title, lines, bands, x_name)


def _axis(rows: list[dict[str, Any]]) -> tuple[float, str, list[Band]]:
    """Decisions in the unit of the horizontal axis, the axis' name, and the phases in this unit."""
    millions = bool(rows) and rows[-1]["decisions"] > 1_000_000
    unit = 1e6 if millions else 1e3
    return unit, f"{'million' if millions else 'thousand'} decisions", phase_bands(rows, unit)


def _evaluation_table(documents: list[tuple[str, dict[str, Any]]], final: str | None) -> str:
    header, body = ["phase"], [[f"{name} (kept)" if name == final else name] for name, _ in documents]
    greedy = [one for _, one in documents]
    for kind, games in (("", greedy), ("drawn: ", [one.get("drawn", {}) for one in greedy])):
        for key, title in COLUMNS.items():
            if any(one.get(key) is not None for one in games):
                header.append(kind + title)
                for row, one in zip(body, games, strict=True):
                    row.append(_figure(one, key))
    final_row = next((number for number, (name, _) in enumerate(documents) if name == final), None)
    return f'{figures(header, body, final_row)}<p class="note">{INTERVALS}</p>'


def _figure(document: dict[str, Any], key: str) -> str:
    value, interval = document.get(key), document.get(f"{key}_interval")
    text = "–" if value is None else f"{value:g}" if isinstance(value, int) else f"{value:.2f}"
    return f"{text} ({interval[0]:.2f} … {interval[1]:.2f})" if interval else text
