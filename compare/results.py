"""Finished runs, read from their folders, and rows of them compared: a line for each figure and row, and milestones.

Statistics have one value a seed (Agarwal et al. 2021: Deep Reinforcement Learning at the Edge of the Statistical
Precipice). Intervals are 95 % percentile bootstraps that resample seeds, not games: those of one run share a policy.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from glob import glob
from math import inf
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
from gymnasium.error import Error

from ..common.errors import BadInput
from ..common.reading import MEGABYTE, read_json
from ..common.run_folder import CONFIGURATION, REPORT, command_line, read_settings, words_of
from ..evaluation.figures import CONFIDENCE, RESAMPLES
from ..finetune.figures import best_policy, figures_of, read_evaluation
from ..finetune.log import METRICS, read_metrics

Plain = dict[str, Any]
Rows = Mapping[str, Sequence[Plain]]
"""The runs of each row."""

KINDS = GREEDY, DRAWN = ("greedy", "drawn")
OWN = ("seed", "seeds", "out", "resume")
EVALUATION, CLONE = "evaluation.json", "pretraining.json"
LARGEST = 64 * MEGABYTE

NOTES = "made"
"""Folder beside the runs with what `qwop-compare` notes of them."""


def read_row(name: str, places: Sequence[str]) -> list[Plain]:
    """The runs of a row, from folders or patterns such as `runs/with-*`, in order of their seeds.

    Where some have equal seeds, as evaluations do, the number that ends each folder's name stands for it. BadInput
    where no folder is found, or one holds no finished run.
    """
    matches = dict.fromkeys(Path(one) for place in places for one in sorted(glob(place)))
    folders = [one for one in matches if one.is_dir() and one.name != NOTES]  # a pattern may name all of `out`
    if not folders:
        raise BadInput(f"{name}={','.join(places)}: no such folder; expected those of finished runs, or a command line")
    runs = [read_run(folder) for folder in folders]
    if len({run["seed"] for run in runs}) < len(runs):
        runs = [run | {"seed": int("0" + re.split(r"\D", run["folder"])[-1])} for run in runs]
    if len({run["seed"] for run in runs}) < len(runs):
        raise BadInput(f"{name}: some runs have the same seed; end each folder's name with a number (NAME-SEED)")
    return sorted(runs, key=lambda run: run["seed"])


def read_run(folder: Path) -> Plain:
    """The finished run of `qwop-evaluate`, `qwop-finetune` or `qwop-pretrain` in a folder; BadInput for anything else.

    greedy, drawn: figures of its final policy's games, as `Evaluation.summary` has them; empty if none were played.
    origins: the commands, times and machine, where `qwop-compare` ran them. log: rows of `metrics.jsonl`; without one
    of its own, that of a folder within it counts: of the training that an evaluation follows.
    """
    (_, note), path = read_note(folder), folder / CONFIGURATION
    settings = read_settings(path) if path.exists() else {}  # other programs may leave evaluations, too
    about: Mapping[str, Any]
    if (folder / EVALUATION).exists():
        program, about = "qwop-evaluate", read_json(folder / EVALUATION, LARGEST, "remove it")
        games = {GREEDY if about.get("settings", {}).get("greedy") else DRAWN: about}
    elif (folder / CLONE).exists():
        program, about = "qwop-pretrain", read_json(folder / CLONE, LARGEST, "remove it")
        games = {GREEDY if one["greedy"] else DRAWN: one for one in about["games"]}
    elif (folder / REPORT).exists() and (folder / METRICS).exists():
        every = [read_evaluation(path) for path in folder.glob("phases/*.json")]
        about = max(every, key=lambda one: one["decisions"], default={})
        if len(every) > 1 and settings["schedule"]["keep"] == "best":
            about = best_policy(folder).figures
        program, games = "qwop-finetune", {GREEDY: about, DRAWN: about.get("drawn", {})}
    else:
        raise BadInput(f"{folder}: no finished run of qwop-finetune, qwop-evaluate or qwop-pretrain")
    if not any("mean_return" in one for one in games.values()):
        raise BadInput(f"{folder}: no policy played games; run qwop-evaluate with its policy, and give that folder")
    logs = [folder / METRICS, *sorted(folder.glob(f"*/{METRICS}"), reverse=True)]
    return {
        "folder": str(folder),
        "seed": note.get("seed", settings.get("seed", 0)),
        "environment": about["environment"]["id"],
        **{kind: figures_of(games.get(kind, {})) for kind in KINDS},
        "command": "\n".join(note.get("row", [command_line(program, words_of(path) if settings else (), without=OWN)])),
        "origins": note.get("done", []),
        "log": next((read_metrics(path.parent) for path in logs if path.exists()), []),
    }


def read_note(folder: Path) -> tuple[Path, Plain]:
    """The file beside a run's folder in which `qwop-compare` notes the commands that made it, and its content: the
    row's command lines, the commands that are done, and the seed; empty without a file."""
    path = folder.parent / NOTES / f"{folder.name}.json"
    return path, read_json(path, LARGEST, "remove it") if path.exists() else {}


def estimate(statistic: Callable[..., Any], *samples: Any) -> tuple[Any, Any, Any]:
    """A statistic of samples, and the ends of its interval; None for a single seed, which has none.

    samples: [seeds, ...] each. statistic: of resamples [n, seeds, ...], for each of the n.
    """
    every = [np.asarray(sample, dtype=np.float64) for sample in samples]
    value = statistic(*(one[None] for one in every))[0]
    if min(map(len, every)) < 2:
        return value, None, None
    generator = np.random.default_rng(0)
    resamples = [one[generator.integers(0, len(one), (RESAMPLES, len(one)))] for one in every]
    return value, *np.quantile(statistic(*resamples), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)


def mean(values: Any) -> Any:
    return values.mean(axis=1)


def interquartile_mean(values: Any) -> Any:
    """The mean without the lowest and the highest quarter of the seeds, ⌊n/4⌋ at each end: the mean below four."""
    quarter = values.shape[1] // 4
    return np.sort(values, axis=1)[:, quarter : values.shape[1] - quarter].mean(axis=1)


def gap(ours: Any, theirs: Any) -> Any:
    """The difference of the means of two rows."""
    return mean(ours) - mean(theirs)


def improvement(ours: Any, theirs: Any) -> Any:
    """Probability that a value of one row is larger than one of the other; a tie counts half."""
    return (np.sign(ours[:, :, None] - theirs[:, None, :]).mean(axis=(1, 2)) + 1) / 2


FIGURES = {
    "finish_share": "share of games finished", "mean_metres": "metres", "median_seconds": "seconds to the finish",
    "mean_return": "mean return",
}  # fmt: skip
"""Figures of an evaluation; the mean return where games have no metres."""

MARKS = {
    "the first finish": ("live/finish_share", 1e-9, 1), "half of the games finished": ("live/finish_share", 0.5, 1),
    "a game in 60 s": ("live/best_seconds", 0, 60), "in 47.34 s (the published agent)": ("live/best_seconds", 0, 47.34),
    "in 45.53 s (the best human)": ("live/best_seconds", 0, 45.53), "in 40 s": ("live/best_seconds", 0, 40),
}  # fmt: skip
"""Milestones of QWOP: a column of the log, and its range."""

TIMES = ("decisions", "time/seconds")
"""Columns of a log that say when a line of it was written."""


def lines_of(rows: Rows, against: str | None = None) -> Iterator[Plain]:
    """Yield a line for each figure and row: `mean`, `iqm`, the `difference` from another row and the probability of
    `improvement` on it, with the ends of their intervals (`mean_low`, …), and `values` by seed.

    against: that other row; the last one of each environment unless given. Two or more equal seeds are paired: the
    difference is the mean of theirs. Otherwise all seeds of both rows count, and are resampled independently.
    """
    if against is not None and against not in rows:
        raise BadInput(f"against={against}: no such row; expected one of {', '.join(rows)}")
    names = ["environment", "figure", "games", "row", "seed", "value"]
    every = (
        (environment, figure, games, row, run["seed"], run[games].get(figure))
        for environment in dict.fromkeys(run["environment"] for runs in rows.values() for run in runs)
        for figure in FIGURES for games in KINDS for row, runs in rows.items() for run in runs
        if run["environment"] == environment and not (figure == "mean_return" and "mean_metres" in run[games])
    )  # fmt: skip
    frame = pd.DataFrame(every, columns=names).astype({"value": float})
    for (environment, figure, games), group in frame.groupby(names[:3], sort=False):
        values = {str(row): one.set_index("seed")["value"] for row, one in group.groupby("row", sort=False)}
        control = against if against in values else [*values][-1]
        for row, by_seed in values.items() if group["value"].notna().any() else ():
            ours, theirs = by_seed.dropna(), values[control].dropna()
            line: Plain = {"environment": environment, "figure": FIGURES[str(figure)], "games": games, "row": row}
            line |= {"seeds": len(ours), "runs": len(by_seed), "values": ours.to_dict()}
            statistics: dict[str, tuple[Any, ...]] = {}
            if len(ours):
                statistics = {"mean": (mean, ours), "iqm": (interquartile_mean, ours)}
            if row != control and len(ours) and len(theirs):
                pairs = (ours - theirs).dropna()
                line |= {"against": control, "paired": len(pairs) > 1}
                statistics["difference"] = (mean, pairs) if line["paired"] else (gap, ours, theirs)
                better = (theirs, ours) if figure == "median_seconds" else (ours, theirs)
                statistics["improvement"] = (improvement, *better)
            for name, terms in statistics.items():
                line |= zip((name, f"{name}_low", f"{name}_high"), estimate(*terms), strict=True)
            yield line


def milestones_of(curves: pd.DataFrame) -> Iterator[Plain]:
    """Yield, for each mark that a run reached in live play, which explores, and for each row: the seeds that did, and
    the medians of their decisions and of their seconds of computing until then.

    Outside QWOP the mark is the reward threshold of the environment.
    """
    for environment, group in curves.groupby("environment", sort=False):
        marks = dict(MARKS)
        with suppress(Error):  # the module that registers it may not be imported here
            if (goal := gymnasium.spec(str(environment)).reward_threshold) is not None:
                marks[f"return of {goal:g}"] = ("live/return", goal, inf)
        for mark, (column, low, high) in marks.items():
            reached = group[group[column].between(low, high)] if column in group else group[:0]
            firsts = reached.drop_duplicates(["row", "seed"])
            for row, runs in group.groupby("row", sort=False) if len(firsts) else ():
                mine = firsts[firsts["row"] == row]
                decisions, seconds = (float(mine[one].median()) if len(mine) else None for one in TIMES)
                line = {"environment": environment, "milestone": mark, "row": row, "reached": len(mine)}
                yield {**line, "seeds": runs["seed"].nunique(), "decisions": decisions, "seconds": seconds}
