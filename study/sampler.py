"""The sampler of a study: TPE, reproducible from a seed even after interruptions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState


class RepeatableTpe(BaseSampler):
    """Tree-structured Parzen estimator (Bergstra et al. 2011), with separate random numbers for each trial.

    Optuna's sampler has one stream of random numbers, which restarts with each process: a continued study would draw
    its first points again.
    """

    def __init__(self, seed: int, random_trials: int) -> None:
        self._seed = seed
        self._random_trials = random_trials
        self._tpe = self._new(0)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._tpe = self._new(trial.number)
        self._tpe.before_trial(study, trial)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._tpe.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self._tpe.sample_relative(study, trial, dict(search_space))

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._tpe.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._tpe.after_trial(study, trial, state, values)

    def _new(self, trial: int) -> TPESampler:
        own = np.random.SeedSequence((self._seed, trial)).generate_state(1)[0]
        return TPESampler(seed=int(own), n_startup_trials=self._random_trials, constant_liar=True)
