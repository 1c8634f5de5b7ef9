"""The runs of a study, shared with other processes: the search, trials from Optuna's sampler of several runs each, and
the finalists' runs with fresh seeds, which decide between them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from optuna.study import Study
from optuna.trial import Trial, TrialState

from ..common.folder_lock import claimed
from .results import FRESH, VALUES, WHY, StudyResults, TrialResult, mean, results_of
from .runs import RunFailed
from .settings import StudySettings, Values, seed_of

WAIT = 1.0
"""Seconds between checks on other processes."""

Play = Callable[[Values, int, Path], float]
"""Makes one run, of values, a seed and a folder, and returns its figure; raises RunFailed if it has none."""


def trial_folder(out: Path, number: int) -> Path:
    """Folder of a trial's runs."""
    return out / "trials" / f"{number:04d}"


def run_folder(out: Path, number: int, seed: int) -> Path:
    """Folder of one run."""
    return trial_folder(out, number) / f"seed-{seed}"


class Search:
    """Runs trials until the budget is used, and then the finalists with fresh seeds.

    A process locks the folder of the trial that it works on. If a trial is running by the journal but its folder
    is not locked, its process died; the next process continues the trial with the runs that it has. A killed and
    continued study therefore equals an uninterrupted one.

    on_run: called after each run.
    """

    def __init__(
        self,
        study: Study,
        settings: StudySettings,
        seed: int,
        out: Path,
        play: Play,
        on_run: Callable[[], None] = lambda: None,
    ) -> None:
        self._study, self._settings, self._seed, self._out = study, settings, seed, out
        self._budget, self._play, self._on_run = settings.budget, play, on_run

    def run(self) -> None:
        """Search, and wait for the trials of other processes."""
        while True:
            with self._next_trial() as trial:
                if trial is not None:
                    self._run_trial(trial)
            self._on_run()
            if trial is None:
                if not self._running():
                    return
                time.sleep(WAIT)

    def run_finalists(self) -> StudyResults:
        """Run the finalists again with seeds not used in the search: make the missing runs, wait for those of other
        processes, and return all results."""
        while True:
            results = results_of(self._study, self._settings)
            waiting = [one for one in results.finalists if len(one.fresh) < results.fresh_count]
            if not waiting:
                return results
            if not any(self._complete(one) for one in waiting):
                time.sleep(WAIT)

    @contextmanager
    def _next_trial(self) -> Iterator[Trial | None]:
        """A trial to work on, locked until the context ends; None if no trial is left for this process."""
        with ExitStack() as locks:
            with claimed(self._out, wait=True):  # so that trials do not exceed the budget
                trial = self._take_over(locks) or self._begin(locks)
            yield trial

    def _take_over(self, locks: ExitStack) -> Trial | None:
        """Continue a trial whose process died."""
        for number, trial_id in self._running():
            with ExitStack() as claim:
                if claim.enter_context(claimed(trial_folder(self._out, number))):
                    trial = Trial(self._study, trial_id)
                    if number in dict(self._running()):  # it may just have been finished
                        locks.enter_context(claim.pop_all())
                        return trial
        return None

    def _begin(self, locks: ExitStack) -> Trial | None:
        """Draw a new point of the space, if the budget allows."""
        if len(self._study.get_trials(deepcopy=False)) >= self._budget.trials:
            return None
        trial = self._study.ask()
        locks.enter_context(claimed(trial_folder(self._out, trial.number)))
        return trial

    def _run_trial(self, trial: Trial) -> None:
        """Make the missing runs of a trial, and finish it with their mean or prune it."""
        values = {one.name: one.suggest(trial) for one in self._settings.space}
        figures: dict[str, float] = dict(trial.user_attrs.get(VALUES, {}))
        reported = self._study.get_trials(deepcopy=False)[trial.number].intermediate_values
        for run in range(self._budget.repeats):
            if run == len(figures):
                seed = seed_of(self._seed, trial.number, run)
                try:
                    figures[str(seed)] = self._play(values, seed, run_folder(self._out, trial.number, seed))
                except RunFailed as error:
                    trial.set_user_attr(WHY, str(error))
                    self._study.tell(trial, state=TrialState.FAIL)
                    return
                trial.set_user_attr(VALUES, figures)
                self._on_run()
            if run + 1 not in reported:
                trial.report(mean(figures.values()), run + 1)
            if run + 1 == len(figures) < self._budget.repeats and self._is_worse([*figures.values()]):
                self._study.tell(trial, state=TrialState.PRUNED)
                return
        self._study.tell(trial, mean(figures.values()))

    def _is_worse(self, figures: Sequence[float]) -> bool:
        """True if a trial's mean so far is worse than the median of the finished trials' means after as many runs.

        Optuna's own median pruner compares a trial's best mean so far, so one lucky first run protects it for good.
        """
        complete = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        others = [mean([*one.user_attrs[VALUES].values()][: len(figures)]) for one in complete]
        if self._budget.pruner == "none" or len(others) < self._budget.prune_after:
            return False
        return self._settings.objective.sign * (mean(figures) - median(others)) < 0

    def _complete(self, trial: TrialResult) -> bool:
        """Make a finalist's missing runs; return False if another process is working on them."""
        with claimed(self._out / "fresh" / f"{trial.number:04d}") as mine:
            if not mine:
                return False
            for run in range(self._budget.fresh_seeds):
                seed = seed_of(self._seed, trial.number, run, fresh=True)
                if (key := f"{FRESH}/{trial.number}/{seed}") in self._study.user_attrs:
                    continue
                try:
                    figure: float | None = self._play(trial.values, seed, run_folder(self._out, trial.number, seed))
                except RunFailed:
                    figure = None
                self._study.set_user_attr(key, figure)
                self._on_run()
        return True

    def _running(self) -> list[tuple[int, int]]:
        """Numbers and Optuna's ids of the trials that are not over."""
        trials = self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        return [(one.number, one._trial_id) for one in trials]
