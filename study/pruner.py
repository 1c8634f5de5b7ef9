"""Pruning between the runs of a trial."""

import numpy as np
from optuna.pruners import BasePruner
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState


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
        finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        others = [one.intermediate_values[step] for one in finished if step in one.intermediate_values]
        if len(others) < self._after:
            return False
        here, median = trial.intermediate_values[step], float(np.median(others))
        return here < median if study.direction == StudyDirection.MAXIMIZE else here > median
