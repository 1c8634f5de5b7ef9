"""Results of a study: each trial's runs, the finalists' fresh runs, and the winner."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from .settings import Parameter, StudySettings, Values, fresh_seed, in_words, search_seed

COMPLETE, PRUNED, FAILED, RUNNING = "complete", "pruned", "failed", "running"
STATES = {TrialState.COMPLETE: COMPLETE, TrialState.PRUNED: PRUNED, TrialState.FAIL: FAILED}

VALUES, WHY = "values", "error"
"""Attributes of a trial in the journal: the figures of its runs so far, and why it failed."""


@dataclass(frozen=True)
class TrialResult:
    """A point of the space and its runs.

    values: of the settings, as on the command line; empty where the process died before it drew them. search: figures
    of the runs in the search. fresh: those of the runs with fresh seeds, None for one that failed; empty but for
    finalists. error: why the trial failed.
    """

    number: int
    state: str
    values: Values
    search: tuple[float, ...]
    fresh: tuple[float | None, ...] = ()
    error: str = ""

    @property
    def fresh_values(self) -> tuple[float, ...]:
        """Figures of the fresh runs that did not fail."""
        return tuple(value for value in self.fresh if value is not None)


def mean(values: Sequence[float]) -> float:
    """The mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else math.nan


def standard_error(values: Sequence[float]) -> float:
    """Standard error of the mean, s/√n with the sample's s; NaN of fewer than two values."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def with_error(values: Sequence[float]) -> str:
    """Mean ± standard error, in words."""
    error = standard_error(values)
    return f"{mean(values):.4g} ± {error:.2g}" if math.isfinite(error) else f"{mean(values):.4g}"


@dataclass(frozen=True)
class StudyResults:
    """All trials of a study, in order. sign: 1 where more is better, -1 where less is."""

    trials: tuple[TrialResult, ...]
    sign: int
    finalist_count: int
    fresh_count: int
    seed: int = 0

    @property
    def ranked(self) -> list[TrialResult]:
        """The trials with all their runs, the best mean of the search first; of equals, the older first."""
        complete = [one for one in self.trials if one.state == COMPLETE]
        return sorted(complete, key=lambda one: (-self.sign * mean(one.search), one.number))

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
        good = [one for one in finalists if None not in one.fresh]
        return max(good, key=lambda one: (self.sign * mean(one.fresh_values), -one.number), default=None)

    @property
    def verdict(self) -> str:
        """The winner and its means, in words."""
        if (best := self.winner) is None:
            return "no finalist has all its fresh runs"
        means = f"{with_error(best.fresh_values)} over {len(best.fresh)} fresh seeds"
        return f"best: trial {best.number}, {means} (in the search {with_error(best.search)})"

    def search_seeds(self, trial: TrialResult) -> list[int]:
        """Seeds of a trial's runs in the search."""
        return [search_seed(self.seed, trial.number, run) for run in range(len(trial.search))]

    def fresh_seeds(self, trial: TrialResult) -> list[int]:
        """Seeds of a finalist's fresh runs."""
        return [fresh_seed(self.seed, trial.number, run) for run in range(len(trial.fresh))]


def results_of(study: Study, settings: StudySettings, seed: int) -> StudyResults:
    """Read the results from the journal."""
    budget = settings.budget
    fresh = study.user_attrs
    trials = [_result(one, settings.space, fresh) for one in study.get_trials(deepcopy=False)]
    return StudyResults(tuple(trials), settings.objective.sign, budget.finalists, budget.fresh_seeds, seed)


def fresh_key(trial: int, run: int) -> str:
    """Name of a fresh run in the journal."""
    return f"fresh/{trial}/{run}"


def _result(trial: FrozenTrial, space: Sequence[Parameter], fresh: dict[str, Any]) -> TrialResult:
    is_complete = all(one.name in trial.params for one in space)
    runs: list[float | None] = []
    while (key := fresh_key(trial.number, len(runs))) in fresh:
        runs.append(fresh[key])
    return TrialResult(
        trial.number,
        STATES.get(trial.state, RUNNING),
        in_words(space, trial.params) if is_complete else {},
        tuple(trial.user_attrs.get(VALUES, ())),
        tuple(runs),
        str(trial.user_attrs.get(WHY, "")),
    )
