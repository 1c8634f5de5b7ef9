"""Results of a study: each trial's runs, the finalists' fresh runs, and the winner."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from .settings import Parameter, StudySettings, Values, in_words

VALUES, FRESH, WHY = "values", "fresh", "error"
"""Attributes in the journal: the figures of a trial's runs so far, those of the trials' fresh runs (the study's, by
trial and seed, which several processes may write at once), and why a trial failed."""


@dataclass(frozen=True)
class TrialResult:
    """A point of the space and its runs.

    state: complete, pruned, failed or running. values: of the settings, as on the command line; empty where the process
    died before it drew them. search: figures of the runs in the search, by seed. fresh: those of the runs with fresh
    seeds, None for one that failed; empty but for finalists. error: why the trial failed.
    """

    number: int
    state: str
    values: Values
    search: Mapping[int, float]
    fresh: Mapping[int, float | None] = field(default_factory=dict)
    error: str = ""

    @property
    def fresh_values(self) -> list[float]:
        """Figures of the fresh runs that did not fail."""
        return [value for value in self.fresh.values() if value is not None]


def mean(values: Collection[float]) -> float:
    """The mean; NaN of nothing."""
    return float(np.mean([*values])) if len(values) else math.nan


def with_error(values: Collection[float]) -> str:
    """Mean ± standard error, s/√n with the sample's s, in words; the mean alone of fewer than two values."""
    error = np.std([*values], ddof=1) / math.sqrt(len(values)) if len(values) > 1 else None
    return f"{mean(values):.4g}" + ("" if error is None else f" ± {error:.2g}")


@dataclass(frozen=True)
class StudyResults:
    """All trials of a study, in order. sign: 1 where more is better, -1 where less is."""

    trials: tuple[TrialResult, ...]
    sign: int
    finalist_count: int
    fresh_count: int

    @property
    def ranked(self) -> list[TrialResult]:
        """The trials with all their runs, the best mean of the search first; of equals, the older first."""
        complete = [one for one in self.trials if one.state == "complete"]
        return sorted(complete, key=lambda one: (-self.sign * mean(one.search.values()), one.number))

    @property
    def finalists(self) -> list[TrialResult]:
        """The best trials of the search, which are run again."""
        return self.ranked[: self.finalist_count]

    @property
    def winner(self) -> TrialResult | None:
        """The finalist with the best mean over the fresh seeds alone, of those without a failed run.

        None until every finalist has all its fresh runs, or if all of them failed.
        """
        finalists = self.finalists
        if any(len(one.fresh) < self.fresh_count for one in finalists):
            return None
        good = [one for one in finalists if None not in one.fresh.values()]
        return max(good, key=lambda one: (self.sign * mean(one.fresh_values), -one.number), default=None)

    @property
    def verdict(self) -> str:
        """The winner and its means, in words."""
        if (best := self.winner) is None:
            return "no finalist has all its fresh runs"
        means = f"{with_error(best.fresh_values)} over {len(best.fresh)} fresh seeds"
        return f"best: trial {best.number}, {means} (in the search {with_error(best.search.values())})"


def results_of(study: Study, settings: StudySettings) -> StudyResults:
    """Read the results from the journal."""
    fresh: dict[int, dict[int, float | None]] = {}
    for name, figure in study.user_attrs.items():
        _, trial, seed = name.split("/")
        fresh.setdefault(int(trial), {})[int(seed)] = figure
    trials = [_result(one, settings.space, fresh.get(one.number, {})) for one in study.get_trials(deepcopy=False)]
    budget = settings.budget
    return StudyResults(tuple(trials), settings.objective.sign, budget.finalists, budget.fresh_seeds)


def _result(trial: FrozenTrial, space: Sequence[Parameter], fresh: Mapping[int, Any]) -> TrialResult:
    is_complete = all(one.name in trial.params for one in space)
    return TrialResult(
        trial.number,
        trial.state.name.lower().replace("fail", "failed"),
        in_words(space, trial.params) if is_complete else {},
        {int(seed): figure for seed, figure in trial.user_attrs.get(VALUES, {}).items()},
        fresh,
        str(trial.user_attrs.get(WHY, "")),
    )
