"""The sampler of a study (TPE, reproducible from a seed even after interruptions) and its pruner."""

import numpy as np
from optuna.pruners import BasePruner
from optuna.samplers import TPESampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState


class RepeatableTpe(TPESampler):
    """Tree-structured Parzen estimator (Bergstra et al. 2011), with separate random numbers for each trial.

    Optuna's sampler has one stream of random numbers, which restarts with each process: a continued study would draw
    its first points again.
    """

    def __init__(self, seed: int, random_trials: int) -> None:
        self._study_seed, self._random_trials = seed, random_trials
        self._begin(0)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._begin(trial.number)
        super().before_trial(study, trial)

    def _begin(self, trial: int) -> None:
        own = np.random.SeedSequence((self._study_seed, trial)).generate_state(1)[0]
        super().__init__(seed=int(own), n_startup_trials=self._random_trials, constant_liar=True)


class MedianPruner(BasePruner):
    """Prunes a trial whose mean after k runs is worse than the median of the finished trials' means after k runs.
    Optuna's own median pruner compares a trial's best mean so far, so one lucky first run protects it for good. after:
    trials that must be finished before any is pruned.
    """

    def __init__(self, after: int) -> None:
        self._after = after

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        step = trial.last_step
        if step is None:
            return False
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        others = [one.intermediate_values[step] for one in complete if step in one.intermediate_values]
        if len(others) < self._after:
            return False
        here, median = trial.intermediate_values[step], float(np.median(others))
        return here < median if study.direction == StudyDirection.MAXIMIZE else here > median
