"""Results of a pretraining run: tables and sentences to print, JSON, and `report.html`, a self-contained page."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table

from ..common.files import beside, write_atomic
from ..common.page import facts, figures, origin, page
from ..common.run_folder import next_command, unused
from ..datasets import embedded
from ..envs.qwop.task import PIXELS
from ..envs.spec import EnvironmentSpec
from ..evaluation.evaluate import Evaluation
from ..evaluation.figures import rank_of
from ..evaluation.report import best_game, charts, rows_of
from ..policies.champion import CHAMPION
from .measures import CLONE, REPEAT_LAST, HeldOut

LIKE = 0.01
"""Differences in accuracy below this do not count."""

SCHEDULES = {embedded.AMATEUR: "kurodo", embedded.CHAMPION: "from-clone"}
"""Schedules for clones of the embedded games."""

PICTURES_TAUGHT = {"stack": 3, "size": 36}
"""Pictures of the schedule `pictures`."""


def pretraining_page(
    dataset: str, splits: Sequence[HeldOut], games: Sequence[Evaluation], command: str, settings: str
) -> str:
    """The page of a run that cloned `dataset`.

    splits: the measures of each clone. games: evaluations of the first one. command: its line; settings: as YAML.
    """
    held_out = "; ".join(", ".join(map(str, split.episodes)) for split in splits)
    parts = [
        f"<h1>Clone of {escape(dataset)}</h1>",
        facts([("dataset", dataset), ("held out", held_out)]),
        "<h2>Episodes held out</h2>",
        _figures(measures_table(splits)),
        '<p class="note">nats: mean −ln p of the action taken, less is better. Calibration error: mean distance of '
        "confidence and accuracy.</p>",
    ]
    if games:
        parts += ["<h2>Games of the clone</h2>", _figures(games_table(games))]
        judgements = {_played(one): one.any_start for one in games}
        parts.append(f'<div class="charts">{"".join(charts(judgements))}</div>')
        parts.append(best_game(max(games, key=lambda one: rank_of(one.results[one.best.index])), None))
    return page(f"Clone of {dataset}", "".join([*parts, origin(command, settings)]))


def _played(games: Evaluation) -> str:
    return "greedy" if games.settings.greedy else "drawn"


def _figures(table: Table) -> str:
    """A table for the terminal as one of the page."""
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return figures([str(column.header) for column in table.columns], list(zip(*columns, strict=True)))


MEASURED = {"accuracy": ".1%", "nats": ".3f", "calibration_error": ".3f"}
"""Columns of the table of measures, and their formats."""


def measures_of(splits: Sequence[HeldOut]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Means and standard deviations over the splits, a row a predictor."""
    every = [{"predictor": name, **asdict(one)} for split in splits for name, one in split.measures.items()]
    by_predictor = pd.DataFrame(every).groupby("predictor", sort=False)[[*MEASURED]]
    return by_predictor.mean(), by_predictor.std()


def measures_table(splits: Sequence[HeldOut]) -> Table:
    """One row per predictor: means over the splits, ± their standard deviation if there are several splits."""
    decisions = sum(next(iter(split.measures.values())).rows for split in splits)
    held_out = "the only episode, which the clone learned from" if splits[0].learned else "episodes held out"
    title = f"{decisions:,} decisions of {held_out}" + (f", {len(splits)} splits" if len(splits) > 1 else "")
    table = Table("", title=title, title_justify="left")
    for measure in MEASURED:
        table.add_column(measure.replace("_", " "), justify="right")
    for (name, means), (_, spreads) in zip(*(one.iterrows() for one in measures_of(splits)), strict=True):
        errors = [f" ± {spreads[one]:{form}}" if len(splits) > 1 else "" for one, form in MEASURED.items()]
        cells = (f"{means[one]:{form}}{error}" for (one, form), error in zip(MEASURED.items(), errors, strict=True))
        table.add_row(str(name), *cells)
    return table


def games_table(evaluations: Sequence[Evaluation]) -> Table:
    """The figures of each evaluation of the clone side by side."""
    table = Table("", *map(_played, evaluations), title="games of the clone", title_justify="left")
    for row in rows_of([one.summary() for one in evaluations], evaluations[0]):
        table.add_row(*row)
    return table


def write_json(
    path: Path, dataset: str, environment: EnvironmentSpec, splits: Sequence[HeldOut], evaluations: Sequence[Evaluation]
) -> None:
    """Write `pretraining.json`: the means over the splits, each split, and the figures of the games."""
    document: dict[str, Any] = {
        "dataset": dataset,
        "environment": environment.to_json(),
        "held_out": measures_of(splits)[0].to_dict("index"),
        "splits": [asdict(split) for split in splits],
        "games": [{"greedy": one.settings.greedy, **one.summary()} for one in evaluations],
    }
    write_atomic(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def worth(splits: Sequence[HeldOut], greedy: bool, sharpness: float) -> list[str]:
    """Sentences about a clone: against repeating the last action, and how it is to be played."""
    clone, repeat = measures_of(splits)[0].loc[[CLONE, REPEAT_LAST], "accuracy"]
    games_held_out = "held out" if not splits[0].learned else "that it learned from, as there is no other game"
    verdict = "better" if clone > repeat + LIKE else "no better"
    sharpened = f", its probabilities to the power of {sharpness:g}" if sharpness != 1.0 else ""
    return [
        f"The clone predicts its player {verdict} than repeating the last action ({clone:.0%} of the decisions "
        f"{games_held_out}, against {repeat:.0%}).",
        f"It is played with {'its most probable actions' if greedy else f'drawn actions{sharpened}'}.",
    ]


def next_step(policy: Path, environment: EnvironmentSpec, games: Sequence[Evaluation], dataset: str = "") -> str:
    """The command that improves the clone of this dataset, as a line to print."""
    if dataset in SCHEDULES:
        return next_command("qwop-finetune", policy=policy, schedule=SCHEDULES[dataset], out=_beside(policy, "faster"))
    if not environment.capabilities.runs or not environment.capabilities.keys:
        return next_command("qwop-finetune", policy=policy, schedule="from-any-clone", out=_beside(policy, "better"))
    finishes = any(one.summary().get("finishes") for one in games)
    if environment.all_settings["observation"] == PIXELS and not finishes:  # the embedded demonstrations are numbers
        settings: dict[str, object] = {"teacher": CHAMPION, "schedule": "pictures"}
        for name, usual in PICTURES_TAUGHT.items():
            if (size := environment.all_settings[name]) != usual:
                settings[f"schedule.phases.taught.environment.{name}"] = size
    else:
        settings = {"schedule": "person"}
    return next_command("qwop-finetune", policy=policy, **settings, out=_beside(policy, "faster"))


def _beside(policy: Path, name: str) -> Path:
    """A folder beside the run's own: runs/me-faster for runs/me."""
    return unused(beside(policy.parent, name))
