"""Results of a study: each trial's runs, the finalists' fresh runs, the winner, and single runs that proved lucky."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from .seeds import fresh_seed, search_seed
from .settings import StudySettings
from .space import Parameter, Values, in_words

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

    @property
    def others(self) -> tuple[float, ...]:
        """All runs but the first, to check the first by."""
        return self.search[1:] + self.fresh_values


def mean(values: Sequence[float]) -> float:
    """The mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else math.nan


def standard_error(values: Sequence[float]) -> float:
    """Standard error of the mean, s/√n with the sample's s; NaN of fewer than two values."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


@dataclass(frozen=True)
class StudyResults:
    """All trials of a study, in order. sign: 1 where more is better, -1 where less is."""

    trials: tuple[TrialResult, ...]
    sign: int
    finalists_wanted: int
    fresh_wanted: int
    goal: float | None = None
    seed: int = 0

    @property
    def ranked(self) -> list[TrialResult]:
        """The trials with all their runs, the best mean of the search first; of equals, the older first."""
        found = [one for one in self.trials if one.state == COMPLETE]
        return sorted(found, key=lambda one: (-self.sign * mean(one.search), one.number))

    @property
    def finalists(self) -> list[TrialResult]:
        """The best trials of the search, which are run again."""
        return self.ranked[: self.finalists_wanted]

    @property
    def winner(self) -> TrialResult | None:
        """The finalist with the best mean over the fresh seeds alone, of those without a failed run.

        None until every finalist has all its fresh runs, or if all of them failed.
        """
        finalists = self.finalists
        if any(len(one.fresh) < self.fresh_wanted for one in finalists):
            return None
        good = [one for one in finalists if None not in one.fresh]
        return max(good, key=lambda one: (self.sign * mean(one.fresh_values), -one.number), default=None)

    @property
    def single_runs(self) -> "SingleRuns | None":
        """The best first runs and the means of their trials' other runs; None without trials of two runs or more."""
        checked = [one for one in self.trials if one.search and one.others]
        if not checked:
            return None
        first = sorted((one.search[0] for one in checked), key=lambda value: -self.sign * value)
        threshold = self.goal if self.goal is not None else first[: self.finalists_wanted][-1]
        winners = [one for one in checked if self.sign * (one.search[0] - threshold) >= 0]
        lasting = [one for one in winners if self.sign * (mean(one.others) - threshold) >= 0]
        return SingleRuns(threshold, tuple(winners), tuple(lasting))

    def search_seeds(self, trial: TrialResult) -> list[int]:
        """Seeds of a trial's runs in the search."""
        return [search_seed(self.seed, trial.number, run) for run in range(len(trial.search))]

    def fresh_seeds(self, trial: TrialResult) -> list[int]:
        """Seeds of a finalist's fresh runs."""
        return [fresh_seed(self.seed, trial.number, run) for run in range(len(trial.fresh))]


@dataclass(frozen=True)
class SingleRuns:
    """Trials whose first run reached the threshold, and those of them whose other runs do so on average."""

    threshold: float
    winners: tuple[TrialResult, ...]
    lasting: tuple[TrialResult, ...]


def results_of(study: Study, settings: StudySettings, seed: int) -> StudyResults:
    """Read the results from the journal."""
    budget = settings.budget
    fresh = study.user_attrs
    trials = [_result(one, settings.space, fresh) for one in study.get_trials(deepcopy=False)]
    return StudyResults(
        tuple(trials), settings.objective.sign, budget.finalists, budget.fresh_seeds, settings.objective.goal, seed
    )


def fresh_key(trial: int, run: int) -> str:
    """Name of a fresh run in the journal."""
    return f"fresh/{trial}/{run}"


def _result(trial: FrozenTrial, space: Sequence[Parameter], fresh: dict[str, Any]) -> TrialResult:
    drawn = all(one.name in trial.params for one in space)
    runs: list[float | None] = []
    while (key := fresh_key(trial.number, len(runs))) in fresh:
        runs.append(fresh[key])
    return TrialResult(
        trial.number,
        STATES.get(trial.state, RUNNING),
        in_words(space, trial.params) if drawn else {},
        tuple(trial.user_attrs.get(VALUES, ())),
        tuple(runs),
        str(trial.user_attrs.get(WHY, "")),
    )
