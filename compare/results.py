"""Rows of runs compared: a line for each figure and row, and milestones, all as plain data."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import inf, nan

import gymnasium
import numpy as np
from gymnasium.error import Error

from ..common.errors import BadInput
from .runs import KINDS, Plain, Run
from .statistics import Estimate, difference, improvement, interquartile_mean, mean

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
                    line |= _ends("mean", mean(ours)) | _ends("iqm", interquartile_mean(ours))
                if row != control and ours and theirs:
                    is_paired, gap = difference(by_seed, values[control])
                    better = (theirs, ours) if key == "median_seconds" else (ours, theirs)
                    line |= {"against": control, "paired": is_paired, **_ends("difference", gap)}
                    line |= _ends("improvement", improvement(*better))
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


def _ends(name: str, estimate: Estimate) -> Plain:
    return dict(zip((name, f"{name}_low", f"{name}_high"), estimate, strict=True))
