"""`report.html` and `study.json` of a study: the result, its uncertainty, and the conclusions that single runs would
have suggested."""

import json
import math
import shlex
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from optuna.exceptions import ExperimentalWarning
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.study import Study

from ..common.charts import STYLE as CHART_STYLE
from ..common.charts import Interval, Points, line_chart, scatter_chart
from ..common.command import REPORT, to_yaml
from ..common.files import write_atomic
from ..common.page import figures, origin, page
from ..finetune.reports.run_log import METRICS, read_metrics
from .parallel import parallel_coordinates
from .results import FAILED, StudyResults, TrialResult, mean, standard_error
from .runs import CommandRun
from .search import run_folder
from .settings import StudyCommandSettings
from .space import Parameter

RESULTS = "study.json"

STUDY = "study.yaml"
"""The study as `study=` takes it."""

SHOWN = 20
"""Trials in the table of the search."""

DRAWN = 5
"""Finalists whose curves are drawn."""


def write_report(
    out: Path, results: StudyResults, importances: Mapping[str, float], settings: StudyCommandSettings, play: CommandRun
) -> Path:
    """Write study.yaml, study.json and report.html; returns the last one's path."""
    write_atomic(out / RESULTS, json.dumps(to_json(results, importances), indent=1, allow_nan=False) + "\n")
    asked = settings.study
    figure = asked.objective.figure
    parts = [f"<h1>{escape(f'qwop-study: {out}')}</h1>", _summary(results, settings, play)]
    parts += ["<h2>The finalists, with fresh seeds</h2>", _finalists(results, asked.space)]
    parts.append(
        '<p class="note">These runs use seeds that the search did not. Their mean decides; the mean in the search is '
        "too good for the best of many trials, because they were selected by it. ± is the standard error.</p>"
    )
    parts += ["<h2>Single runs</h2>", _single_runs(results, figure)]
    curves = _curves(out, results, asked.objective.curve)
    if curves:
        parts += ["<h2>Learning of the finalists</h2>", f'<div class="charts">{curves}</div>']
        parts.append('<p class="note">Mean over the fresh seeds ± standard error, from the runs\' logs.</p>')
    parts += ["<h2>The search</h2>", _search(results, asked.space)]
    points = [(one.values, mean(one.search)) for one in results.ranked]
    parts.append(parallel_coordinates(asked.space, points, figure, len(results.finalists), results.sign))
    parts.append('<p class="note">Each line is a complete trial; the finalists are highlighted.</p>')
    if importances:
        rows = [(name, f"{share:.0%}") for name, share in importances.items()]
        parts += ["<h2>Importance of the settings</h2>", figures(("", "share"), rows)]
        parts.append(
            '<p class="note">PED-ANOVA (Watanabe et al. 2023): the share of each setting in whether a trial is among '
            "the best tenth.</p>"
        )
    parts.append(_failures(results))
    path = write_atomic(out / STUDY, to_yaml(asked))
    again = ["qwop-study", f"study={path}", f"seed={settings.seed}", "out=runs/again"]
    parts.append(origin(shlex.join(again), to_yaml(settings)))
    return write_atomic(out / REPORT, page(f"qwop-study: {out}", "".join(parts), CHART_STYLE))


def importances_of(study: Study, results: StudyResults) -> dict[str, float]:
    """Importance of each setting for being among the best trials; empty if too few are complete."""
    values = {mean(one.search) for one in results.ranked}
    if len(values) < 2:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        found = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    return {name: float(share) for name, share in found.items() if math.isfinite(share)}


def to_json(results: StudyResults, importances: Mapping[str, float]) -> dict[str, object]:
    """All results as plain data."""
    single, winner = results.single_runs, results.winner
    return {
        "winner": None if winner is None else winner.number,
        "finalists": [one.number for one in results.finalists],
        "single_runs": None
        if single is None
        else {
            "threshold": single.threshold,
            "winners": [one.number for one in single.winners],
            "lasting": [one.number for one in single.lasting],
        },
        "importances": dict(importances),
        "trials": [_trial_json(results, one) for one in results.trials],
    }


def _trial_json(results: StudyResults, trial: TrialResult) -> dict[str, object]:
    found: dict[str, Any] = {
        "number": trial.number,
        "state": trial.state,
        "values": dict(trial.values),
        "search": dict(zip(map(str, results.search_seeds(trial)), trial.search, strict=True)),
    }
    if trial.fresh:
        found["fresh"] = dict(zip(map(str, results.fresh_seeds(trial)), trial.fresh, strict=True))
    return found | ({"error": trial.error} if trial.error else {})


def in_words(values: Sequence[float]) -> str:
    """Mean ± standard error."""
    error = standard_error(values)
    return f"{mean(values):.4g} ± {error:.2g}" if math.isfinite(error) else f"{mean(values):.4g}"


def _summary(results: StudyResults, settings: StudyCommandSettings, play: CommandRun) -> str:
    budget = settings.study.budget
    states = [one.state for one in results.trials]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    runs = sum(len(one.search) for one in results.trials)
    said = f"{len(states)} trials of up to {budget.repeats} runs ({counts}), {runs} runs in all."
    winner = results.winner
    if winner is None:
        return f"<p>{escape(said)} No finalist has all its fresh runs.</p>"
    said += (
        f" Best with {len(winner.fresh)} fresh seeds: trial {winner.number}, {in_words(winner.fresh_values)}; in the "
        f"search it had {in_words(winner.search)}."
    )
    return f"<p>{escape(said)}</p><pre>{escape(shlex.join(play.words(winner.values, 0)))}</pre>"


def _finalists(results: StudyResults, space: Sequence[Parameter]) -> str:
    names = ("trial", "fresh", "search", *short_names(space), "each fresh seed", "each seed of the search")
    winner = results.winner
    rows = []
    for one in results.finalists:
        best = " (best)" if winner is not None and one.number == winner.number else ""
        means = f"{one.number}{best}", in_words(one.fresh_values), in_words(one.search)
        fresh = _each(results.fresh_seeds(one), one.fresh)
        rows.append((*means, *map(_short, one.values.values()), fresh, _each(results.search_seeds(one), one.search)))
    return figures(names, rows)


def _search(results: StudyResults, space: Sequence[Parameter]) -> str:
    names = ("trial", "mean", *short_names(space), "each seed")
    rows = []
    for one in results.ranked[:SHOWN]:
        each = _each(results.search_seeds(one), one.search)
        rows.append((str(one.number), in_words(one.search), *map(_short, one.values.values()), each))
    more = len(results.ranked) - len(rows)
    return figures(names, rows) + (f'<p class="note">{more} more are in {RESULTS}.</p>' if more else "")


def short_names(space: Sequence[Parameter]) -> list[str]:
    """The settings' names, without their groups if they stay distinct."""
    lasts = [one.name.rpartition(".")[2] for one in space]
    return [last if lasts.count(last) == 1 else one.name for last, one in zip(lasts, space, strict=True)]


def _each(seeds: Sequence[int], values: Sequence[float | None]) -> str:
    """Each seed with its figure."""
    figures = ("failed" if value is None else f"{value:.4g}" for value in values)
    return ", ".join(f"{seed}: {figure}" for seed, figure in zip(seeds, figures, strict=True))


def _short(value: str) -> str:
    """A number to four digits, anything else as it is."""
    try:
        return f"{float(value):.4g}"
    except ValueError:
        return value


def _single_runs(results: StudyResults, figure: str) -> str:
    single = results.single_runs
    if single is None:
        return "<p>No trial has a second run to compare with its first.</p>"
    finalists = {one.number for one in results.finalists}
    groups: dict[str, dict[str, tuple[float, float]]] = {"finalists": {}, "other trials": {}}
    for one in results.trials:
        if one.search and one.others:
            group = groups["finalists" if one.number in finalists else "other trials"]
            group[f"trial {one.number}: {one.search[0]:.4g}, then {in_words(one.others)}"] = (
                one.search[0],
                mean(one.others),
            )
    better = "or more" if results.sign > 0 else "or less"
    said = (
        f"First runs of {single.threshold:.4g} {better}: {len(single.winners)}. Of these trials, those whose other "
        f"runs, with other seeds, reach it on average: {len(single.lasting)}. In the others the first run was luck."
    )
    chart = scatter_chart(f"{figure}: mean of the other runs", groups, "the first run")
    return f'<p>{escape(said)}</p><div class="charts">{chart}</div>'


def _curves(out: Path, results: StudyResults, column: str | None) -> str:
    """The chart of the finalists' logs; empty without logs."""
    if column is None:
        return ""
    lines: dict[str, Points] = {}
    areas: dict[str, list[Interval]] = {}
    for one in results.finalists[:DRAWN]:
        folders = [run_folder(out, one.number, seed) for seed in results.fresh_seeds(one)]
        logs = [read_metrics(folder) for folder in folders if (folder / METRICS).exists()]
        name = f"trial {one.number}"
        lines[name], areas[name] = mean_curve(logs, column)
    return line_chart(column, lines, [], "decisions", around=areas)


def mean_curve(logs: Sequence[Sequence[Mapping[str, Any]]], column: str) -> tuple[Points, list[Interval]]:
    """Mean of a column over runs, and mean ± standard error, at the decisions where every run has a row with it."""
    rows = [{row["decisions"]: float(row[column]) for row in log if column in row} for log in logs]
    common = sorted(set.intersection(*map(set, rows))) if rows else []
    points: Points = []
    area: list[Interval] = []
    for decisions in common:
        values = [one[decisions] for one in rows]
        here, error = mean(values), standard_error(values)
        points.append((float(decisions), here))
        if math.isfinite(error):
            area.append((float(decisions), here - error, here + error))
    return points, area


def _failures(results: StudyResults) -> str:
    failed = [(str(one.number), one.error) for one in results.trials if one.state == FAILED]
    return f"<h2>Trials that failed</h2>{figures(('trial', 'by'), failed)}" if failed else ""
