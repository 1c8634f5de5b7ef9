"""Finished runs, read from their folders, and rows of them compared: a line for each figure and row, and milestones.

Statistics have one value a seed (Agarwal et al. 2021: Deep Reinforcement Learning at the Edge of the Statistical
Precipice). Intervals are 95 % percentile bootstraps that resample seeds, not games: those of one run share a policy.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import glob
from math import inf, nan
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import Error

from ..commands import evaluate, finetune, pretrain
from ..common.errors import BadInput
from ..common.reading import MEGABYTE, read_json
from ..common.run_folder import CONFIGURATION, REPORT, command_line, read_settings, words_of
from ..evaluation.figures import CONFIDENCE, RESAMPLES, bootstrap_interval
from ..finetune.figures import best_policy, figures_of, read_evaluation
from ..finetune.log import METRICS, read_metrics

Plain = dict[str, Any]

KINDS = GREEDY, DRAWN = ("greedy", "drawn")
OWN = ("seed", "seeds", "out", "resume")
EVALUATION, CLONE, POLICY = "evaluation.json", "pretraining.json", "policy.safetensors"

NOTES = "made"
"""Folder beside the runs with what `qwop-compare` notes of them."""


@dataclass(frozen=True)
class Run:
    """A finished run.

    greedy, drawn: figures of its final policy's games, as `Evaluation.summary` has them; empty if none were played.
    decisions: until that policy. is_best: it is the best of several that were evaluated. origins: the commands, times
    and machine, where `qwop-compare` ran them. log: rows of `metrics.jsonl`, empty without learning.
    """

    folder: str
    seed: int
    environment: str
    greedy: Mapping[str, Any]
    drawn: Mapping[str, Any]
    command: str
    decisions: int = 0
    is_best: bool = False
    origins: Sequence[Plain] = ()
    log: Sequence[Plain] = ()

    def to_json(self) -> Plain:
        """The run without its log, its games and the settings of these."""
        games = {kind: figures_of(getattr(self, kind)) for kind in KINDS}
        return {name: value for name, value in {**vars(self), **games}.items() if name != "log"}


def read_row(name: str, places: Sequence[str]) -> list[Run]:
    """The runs of a row, from folders or patterns such as `runs/with-*`, in order of their seeds.

    Where some have equal seeds, as evaluations do, the number that ends each folder's name stands for it. BadInput
    where no folder is found, or one holds no finished run.
    """
    matches = dict.fromkeys(Path(one) for place in places for one in sorted(glob(place)))
    folders = [one for one in matches if one.is_dir() and one.name != NOTES]  # a pattern may name all of `out`
    if not folders:
        raise BadInput(f"{name}={','.join(places)}: no such folder; expected those of finished runs, or a command line")
    runs = [read_run(folder) for folder in folders]
    if len({run.seed for run in runs}) < len(runs):
        numbers = [folder.name.rpartition("-")[2] for folder in folders]
        if not all(map(str.isdecimal, numbers)) or len(set(map(int, numbers))) < len(runs):
            raise BadInput(f"{name}: some runs have the same seed; end each folder's name with a number (NAME-SEED)")
        runs = [replace(run, seed=int(number)) for run, number in zip(runs, numbers, strict=True)]
    return sorted(runs, key=lambda run: run.seed)


def read_run(folder: Path) -> Run:
    """The finished run of `qwop-evaluate`, `qwop-finetune` or `qwop-pretrain` in a folder; BadInput for anything else.

    Without a log of its own, that of a folder within it counts: of the training that an evaluation follows.
    """
    is_best, command = False, finetune
    games: Mapping[str, Mapping[str, Any]]
    if (folder / EVALUATION).exists():
        command, last = evaluate, _document(folder / EVALUATION)
        games = {GREEDY if last.get("settings", {}).get("greedy") else DRAWN: last}
    elif (folder / CLONE).exists():
        from ..policies.files import load_policy  # with PyTorch

        command, last = pretrain, {"environment": load_policy(folder / POLICY).environment.to_json()}
        games = {GREEDY if one["greedy"] else DRAWN: one for one in _document(folder / CLONE)["games"]}
    elif (folder / REPORT).exists() and (folder / METRICS).exists():
        every = [read_evaluation(path) for path in folder.glob("phases/*.json")]
        last = max(every, key=lambda one: one["decisions"], default={})
        if is_best := len(every) > 1 and read_settings(folder / CONFIGURATION)["schedule"]["keep"] == "best":
            last = {**best_policy(folder).figures}
        games = {GREEDY: last, DRAWN: last.get("drawn", {})}
    else:
        raise BadInput(f"{folder}: no finished run of qwop-finetune, qwop-evaluate or qwop-pretrain")
    if not any("mean_return" in one for one in games.values()):
        raise BadInput(f"{folder}: no policy played games; run qwop-evaluate with its policy, and give that folder")
    note, path = read_note(folder), folder / CONFIGURATION
    settings = read_settings(path) if path.exists() else {}  # other programs may leave evaluations, too
    line = command_line(command.program, words_of(path) if path.exists() else (), without=OWN)
    logs = [*sorted(folder.glob(f"*/{METRICS}")), *folder.glob(METRICS)]
    log = read_metrics(logs[-1].parent) if logs else []
    return Run(
        str(folder), note.get("seed", settings.get("seed", 0)), last["environment"]["id"],
        games.get(GREEDY, {}), games.get(DRAWN, {}), "\n".join(note.get("row", [line])),
        last.get("decisions", log[-1]["decisions"] if log else 0), is_best, note.get("done", ()), log,
    )  # fmt: skip


def note_of(folder: Path) -> Path:
    """The file beside a run's folder in which `qwop-compare` notes the commands that made it."""
    return folder.parent / NOTES / f"{folder.name}.json"


def read_note(folder: Path) -> Plain:
    """The note beside a run: the row's command lines, the commands that are done, and the seed; empty without one."""
    return _document(note_of(folder)) if note_of(folder).exists() else {}


def _document(path: Path) -> Plain:
    document: Plain = read_json(path, 64 * MEGABYTE, "remove it")
    return document


Estimate = tuple[float, float | None, float | None]
"""A statistic, and the ends of its interval; None for a single seed, which has none."""

COVERAGE = {2: 50, 3: 75, 5: 85, 10: 90, 20: 92}
"""Per cent of percentile intervals of a mean that hold the true one, by the number of normally distributed values."""


def mean(values: Sequence[float]) -> Estimate:
    """The mean over seeds."""
    return float(np.mean(values)), *(bootstrap_interval(values) if len(values) > 1 else (None, None))


def interquartile_mean(values: Sequence[float]) -> Estimate:
    """The mean without the lowest and the highest quarter of the seeds, ⌊n/4⌋ at each end: the mean below four."""
    quarter = len(values) // 4
    return _estimate(lambda x: np.sort(x, axis=-1)[..., quarter : len(values) - quarter].mean(axis=-1), values)


def difference(row: Mapping[int, float], other: Mapping[int, float]) -> tuple[bool, Estimate]:
    """The row's mean minus the other's, values by seed, and whether the seeds are paired.

    Two or more equal seeds are paired: the mean is that of their differences. Otherwise all seeds of both rows count,
    and are resampled independently.
    """
    if len(shared := sorted(row.keys() & other.keys())) > 1:
        return True, mean([row[seed] - other[seed] for seed in shared])
    return False, _estimate(lambda x, y: x.mean(axis=-1) - y.mean(axis=-1), [*row.values()], [*other.values()])


def improvement(values: Sequence[float], others: Sequence[float]) -> Estimate:
    """Probability that a value is larger than one of the others; a tie counts half."""

    def share(x: Any, y: Any) -> Any:
        return (np.sign(x[..., :, None] - y[..., None, :]).mean(axis=(-2, -1)) + 1) / 2

    return _estimate(share, values, others)


def mean_curve(curves: Sequence[Sequence[tuple[float, float]]], points: int = 60) -> list[tuple[float, ...]]:
    """Mean over seeds of curves (x, y), interpolated at places that all of them reach: [(x, mean, low, high)].

    The ends of the interval are the mean itself for one seed.
    """
    first, last = max(curve[0][0] for curve in curves), min(curve[-1][0] for curve in curves)
    places = np.linspace(first, last, points) if last > first else np.array([last])
    every = np.array([np.interp(places, *np.transpose(curve)) for curve in curves])
    draws = np.random.default_rng(0).integers(0, len(curves), (RESAMPLES, len(curves)))
    shares = np.stack([(draws == seed).mean(axis=1) for seed in range(len(curves))], axis=1)
    return list(map(tuple, np.stack([places, every.mean(axis=0), *_ends(shares @ every)], axis=1).tolist()))


def _estimate(statistic: Callable[..., Any], *samples: Sequence[float]) -> Estimate:
    """A statistic of samples, each [..., seeds], with its interval."""
    every = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if min(map(len, every)) < 2:
        return float(statistic(*every)), None, None
    generator, values = np.random.default_rng(0), []
    for _ in range(RESAMPLES // 100):  # in blocks, to limit memory with many seeds
        values.append(statistic(*(one[generator.integers(0, len(one), (100, len(one)))] for one in every)))
    low, high = _ends(np.concatenate(values))
    return float(statistic(*every)), float(low), float(high)


def _ends(values: Any) -> Any:
    return np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)


Rows = Mapping[str, Sequence[Run]]

FIGURES = {
    "finish_share": "share of games finished", "mean_metres": "metres", "median_seconds": "seconds to the finish",
    "mean_return": "mean return", "solved": "share of games with a return of {:g} or more",
}  # fmt: skip
"""Figures of an evaluation; the mean return where games have no metres, and the last one with a goal."""

MARKS = {
    "the first finish": ("live/finish_share", 1e-9, 1), "half of the games finished": ("live/finish_share", 0.5, 1),
    "a game in 60 s": ("live/best_seconds", 0, 60), "in 47.34 s (the published agent)": ("live/best_seconds", 0, 47.34),
    "in 45.53 s (the best human)": ("live/best_seconds", 0, 45.53), "in 40 s": ("live/best_seconds", 0, 40),
}  # fmt: skip
"""Milestones of QWOP: a column of the log, and its range."""


def by_environment(rows: Rows) -> dict[str, dict[str, Sequence[Run]]]:
    """The rows of each environment: only these can be compared. BadInput for a row with several environments."""
    groups: dict[str, dict[str, Sequence[Run]]] = {}
    for name, runs in rows.items():
        first, *others = dict.fromkeys(run.environment for run in runs)
        if others:
            raise BadInput(f"{name}: has runs of {first} and of {others[0]}; give each environment a row of its own")
        groups.setdefault(first, {})[name] = runs
    return groups


def lines_of(rows: Rows, against: str | None = None, goal: float | None = None) -> Iterator[Plain]:
    """Yield a line for each figure and row: `mean`, `iqm`, the `difference` from another row and the probability of
    `improvement` on it, with the ends of their intervals (`mean_low`, …), and `values` by seed.

    against: that other row; the last one of each environment unless given. goal: return from which a game counts as
    solved; their share is then a figure, too.
    """
    if against is not None and against not in rows:
        raise BadInput(f"against={against}: no such row; expected one of {', '.join(rows)}")
    for environment, group in by_environment(rows).items():
        control = against if against in group else [*group][-1]
        for key, games in ((key, games) for key in FIGURES for games in KINDS):
            values = {
                row: {run.seed: one for run in runs for one in _value(run, games, key, goal)}
                for row, runs in group.items()
            }
            for row, by_seed in values.items() if any(values.values()) else ():
                ours, theirs, label = [*by_seed.values()], [*values[control].values()], FIGURES[key].format(goal)
                line: Plain = {"environment": environment, "figure": label, "games": games, "row": row}
                line |= {"seeds": len(by_seed), "runs": len(group[row]), "values": by_seed}
                if ours:
                    line |= _named("mean", mean(ours)) | _named("iqm", interquartile_mean(ours))
                if row != control and ours and theirs:
                    is_paired, gap = difference(by_seed, values[control])
                    better = (theirs, ours) if key == "median_seconds" else (ours, theirs)
                    line |= {"against": control, "paired": is_paired, **_named("difference", gap)}
                    line |= _named("improvement", improvement(*better))
                yield line


def milestones_of(rows: Rows, goal: float | None = None) -> Iterator[Plain]:
    """Yield, for each mark that a run reached in live play, which explores, and for each row: the seeds that did, and
    the medians of their decisions and of their seconds of computing until then.

    Outside QWOP the mark is the goal, or the reward threshold of the environment.
    """
    for environment, group in by_environment(rows).items():
        own = goal
        with suppress(Error):  # the module that registers it may not be imported here
            own = gymnasium.spec(environment).reward_threshold if own is None else own
        more = {} if own is None else {f"return of {own:g}": ("live/return", own, inf)}
        for mark, (column, low, high) in {**MARKS, **more}.items():
            firsts: dict[str, list[Plain]] = {name: [] for name in group if any(run.log for run in group[name])}
            for row, run in ((name, run) for name in firsts for run in group[name]):
                firsts[row] += [one for one in run.log if low <= one.get(column, nan) <= high][:1]
            for row, firsts_of_row in firsts.items() if any(firsts.values()) else ():
                line = {"environment": environment, "milestone": mark, "row": row, "reached": len(firsts_of_row)}
                columns = [[one[name] for one in firsts_of_row] for name in ("decisions", "time/seconds")]
                decisions, seconds = (float(np.median(column)) if firsts_of_row else None for column in columns)
                yield {**line, "seeds": len(group[row]), "decisions": decisions, "seconds": seconds}


def _value(run: Run, games: str, key: str, goal: float | None) -> list[float]:
    """A figure of a run, if it has it."""
    figures: Plain = getattr(run, games)
    if key == "solved" and goal is not None and "games" in figures:
        return [float(np.mean([one["reward"] >= goal for one in figures["games"]]))]
    applies = figures.get(key) is not None and not (key == "mean_return" and "mean_metres" in figures)
    return [float(figures[key])] if applies else []


def _named(name: str, estimate: Estimate) -> Plain:
    return dict(zip((name, f"{name}_low", f"{name}_high"), estimate, strict=True))
