"""The finalists' runs with fresh seeds, which decide between them."""

import time

from ..common.folder_lock import claimed
from .results import StudyResults, TrialResult, fresh_key, results_of
from .runs import RunFailed
from .search import WAIT, Work, run_folder
from .seeds import fresh_seed


class FreshRuns(Work):
    """Runs the finalists again with seeds not used in the search."""

    def run(self) -> StudyResults:
        """Make the missing runs, wait for those of other processes, and return all results."""
        while True:
            results = results_of(self._study, self._settings, self._seed)
            waiting = [one for one in results.finalists if len(one.fresh) < results.fresh_wanted]
            if not waiting:
                return results
            if not any(self._complete(one) for one in waiting):
                time.sleep(WAIT)

    def _complete(self, trial: TrialResult) -> bool:
        """Make a finalist's missing runs; return False if another process is working on them."""
        with claimed(self._out / "fresh" / f"{trial.number:04d}") as mine:
            if not mine:
                return False
            for run in range(self._budget.fresh_seeds):
                key = fresh_key(trial.number, run)
                if key in self._study.user_attrs:
                    continue
                seed = fresh_seed(self._seed, trial.number, run)
                try:
                    figure: float | None = self._play(trial.values, seed, run_folder(self._out, trial.number, seed))
                except RunFailed:
                    figure = None
                self._study.set_user_attr(key, figure)
                self._on_run()
        return True
