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

TRACK = {"finish_share": "share of games finished", "mean_metres": "metres", "median_seconds": "seconds to the finish"}
RETURN = {"mean_return": "mean return"}
LESS_IS_BETTER = "median_seconds"

MARKS = {
    "the first finish": ("live/finish_share", 1e-9, 1), "half of the games finished": ("live/finish_share", 0.5, 1),
    "a game in 60 s": ("live/best_seconds", 0, 60), "in 47.34 s (the published agent)": ("live/best_seconds", 0, 47.34),
    "in 45.53 s (the best human)": ("live/best_seconds", 0, 45.53), "in 40 s": ("live/best_seconds", 0, 40),
}  # fmt: skip
"""Milestones of QWOP: a column of the log, and its range."""


def by_environment(rows: Rows) -> dict[str, dict[str, Sequence[Run]]]:
    """The rows of each environment: only these can be compared. BadInput for a row with several environments."""
    found: dict[str, dict[str, Sequence[Run]]] = {}
    for name, runs in rows.items():
        first, *others = dict.fromkeys(run.environment for run in runs)
        if others:
            raise BadInput(f"{name}: has runs of {first} and of {others[0]}; give each environment a row of its own")
        found.setdefault(first, {})[name] = runs
    return found


def on_a_track(group: Rows) -> bool:
    """True for runs of QWOP, whose games have metres."""
    return any("finishes" in figures for runs in group.values() for run in runs for figures in run.figures.values())


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
        labels = dict(TRACK if on_a_track(group) else RETURN)
        labels |= {} if goal is None else {"solved": f"share of games with a return of {goal:g} or more"}
        for key, games in ((key, games) for key in labels for games in KINDS):
            values = {row: _values(runs, games, key, goal) for row, runs in group.items()}
            for row, by_seed in values.items() if any(values.values()) else ():
                line: Plain = {"environment": environment, "figure": labels[key], "games": games, "row": row}
                line |= {"seeds": len(by_seed), "runs": len(group[row]), "values": by_seed}
                ours, theirs = [*by_seed.values()], [*values[control].values()]
                if ours:
                    line |= _ends("mean", mean(ours)) | _ends("iqm", interquartile_mean(ours))
                if row != control and ours and theirs:
                    paired, gap = difference(by_seed, values[control])
                    better = (theirs, ours) if key == LESS_IS_BETTER else (ours, theirs)
                    line |= {"against": control, "paired": paired, **_ends("difference", gap)}
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
        elsewhere = {} if own is None else {f"return of {own:g}": ("live/return", own, inf)}
        for mark, (column, low, high) in (MARKS if on_a_track(group) else elsewhere).items():
            firsts: dict[str, list[Plain]] = {row: [] for row in group}
            for row, run in ((row, run) for row, runs in group.items() for run in runs):
                firsts[row] += [one for one in run.log if low <= one.get(column, nan) <= high][:1]
            for row, found in firsts.items() if any(firsts.values()) else ():
                line = {"environment": environment, "milestone": mark, "row": row, "reached": len(found)}
                columns = {"decisions": "decisions", "seconds": "time/seconds"}
                medians = {
                    to: float(np.median([one[name] for one in found])) if found else None
                    for to, name in columns.items()
                }
                yield {**line, "seeds": len(group[row]), **medians}


def _values(runs: Sequence[Run], games: str, key: str, goal: float | None) -> dict[int, float]:
    """A figure by seed, of the runs that have it."""
    found = {run.seed: run.figures.get(games, {}) for run in runs}
    if key == "solved":
        every = {seed: [one["reward"] for one in figures.get("games", ())] for seed, figures in found.items()}
        return {seed: float(np.mean(np.array(rewards) >= goal)) for seed, rewards in every.items() if rewards}
    return {seed: float(figures[key]) for seed, figures in found.items() if figures.get(key) is not None}


def _ends(name: str, estimate: Estimate) -> Plain:
    return dict(zip((name, f"{name}_low", f"{name}_high"), estimate, strict=True))
