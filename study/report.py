"""`report.html` and `study.json` of a study: the result and its uncertainty."""

import json
import math
import shlex
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from optuna.exceptions import ExperimentalWarning
from optuna.importance import PedAnovaImportanceEvaluator
from optuna.study import Study
from optuna.visualization import plot_parallel_coordinate, plot_param_importances

from ..common.files import write_atomic
from ..common.page import figures, origin, page
from ..common.run_folder import REPORT, command_line, to_yaml
from .results import StudyResults, TrialResult, mean, with_error
from .runs import CommandRun
from .search import trial_folder
from .settings import StudyCommandSettings

RESULTS = "study.json"

MOST_ROWS = 20
"""Trials in the table of the search."""

FRESH = (
    "The fresh runs use seeds that the search did not. Their mean decides; the mean in the search is too good for the "
    "best of many trials, because they were selected by it. ± is the standard error."
)
LINES = "Each line is a complete trial, from setting to setting; drag along an axis to choose among them."
PLAIN = {"displayModeBar": False}
IMPORTANCE = "PED-ANOVA (Watanabe et al. 2023): the share of each setting in whether a trial is among the best tenth."


def write_report(
    out: Path, study: Study, results: StudyResults, settings: StudyCommandSettings, play: CommandRun
) -> Path:
    """Write study.json and report.html; returns the latter's path."""
    write_atomic(out / RESULTS, json.dumps(to_json(results), indent=1, allow_nan=False) + "\n")
    objective, title = settings.study.objective, f"qwop-study: {out}"
    failures = [(str(one.number), one.error) for one in results.trials if one.state == "failed"]
    parts = (
        f"<h1>{escape(title)}</h1>",
        _summary(results, settings, play),
        "<h2>The finalists, with fresh seeds</h2>",
        _table(results, results.finalists),
        _note(FRESH),
        _compared(out, results),
        "<h2>The search</h2>",
        _table(results, results.ranked[:MOST_ROWS]),
        _note(f"The best of {len(results.ranked)} complete trials; {RESULTS} has all of them."),
        _pictures(study, results, objective.figure),
        f"<h2>Trials that failed</h2>{figures(('trial', 'by'), failures)}" if failures else "",
        origin(command_line("qwop-study", settings.words), to_yaml(settings)),
    )
    return write_atomic(out / REPORT, page(title, "".join(parts)))


def to_json(results: StudyResults) -> dict[str, object]:
    """All results as plain data."""
    winner = results.winner
    return {
        "winner": None if winner is None else winner.number,
        "finalists": [one.number for one in results.finalists],
        "trials": [vars(one) for one in results.trials],
    }


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _summary(results: StudyResults, settings: StudyCommandSettings, play: CommandRun) -> str:
    states = [one.state for one in results.trials]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    runs = sum(len(one.search) for one in results.trials)
    summary = f"{len(states)} trials of up to {settings.study.budget.repeats} runs ({counts}), {runs} runs in all."
    command = "" if results.winner is None else shlex.join(play.words(results.winner.values, 0))
    return f"<p>{escape(f'{summary} {results.verdict}.')}</p><pre>{escape(command)}</pre>"


def _table(results: StudyResults, trials: Sequence[TrialResult]) -> str:
    """Means, values and each seed's figure, a trial a row; the winner is marked."""
    settings = [name.rpartition(".")[2] for name in (trials[0].values if trials else ())]
    rows = []
    for one in trials:
        means = with_error(one.fresh_values) if one.fresh else "", with_error(one.search.values())
        values = (f"{float(value):.4g}" if _is_number(value) else value for value in one.values.values())
        each = _each(one.fresh), _each(one.search)
        rows.append((str(one.number), *means, *values, *each))
    marked = next((row for row, one in enumerate(trials) if one == results.winner), None)
    return figures(("trial", "fresh", "search", *settings, "each fresh seed", "each seed of the search"), rows, marked)


def _each(values: Mapping[int, float | None]) -> str:
    """Each seed with its figure."""
    return ", ".join(f"{seed}: {'failed' if value is None else f'{value:.4g}'}" for seed, value in values.items())


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _compared(out: Path, results: StudyResults) -> str:
    """The command that draws how the finalists learned."""
    rows = [f"trial-{one.number}={trial_folder(out, one.number)}/seed-*" for one in results.finalists]
    line = shlex.join(["qwop-compare", *rows, f"out={out / 'compare'}"])
    return f"<h2>Learning of the finalists</h2><pre>{escape(line)}</pre>" if rows else ""


def _pictures(study: Study, results: StudyResults, figure: str) -> str:
    """Optuna's own pictures of the search. The page carries the script that draws them, 4.8 MB, and needs no network.

    Empty if too few trials are complete to differ.
    """
    if len({mean(one.search.values()) for one in results.ranked}) < 2:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        lines = plot_parallel_coordinate(study, target_name=figure)
        shares = plot_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    parts = []
    for picture, script, note in ((lines, True, LINES), (shares, False, IMPORTANCE)):
        picture.update_layout(title=None, template="plotly_white", height=320, margin={"t": 60, "b": 40})
        parts += [picture.to_html(full_html=False, include_plotlyjs=script, config=PLAIN), _note(note)]
    return "".join(parts)
