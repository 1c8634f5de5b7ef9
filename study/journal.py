"""A study's journal: Optuna's record of trials in one file, shared by several processes and robust against kills."""

import os
from pathlib import Path

import numpy as np
import optuna
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from ..common.errors import BadInput, quoted
from ..common.reading import MEGABYTE, read_bytes
from .settings import StudySettings

JOURNAL = "journal.log"

LARGEST_JOURNAL = 256 * MEGABYTE

ANEW = "start anew with another out"

NAME = "study"
"""The study's name in its journal, for Optuna's own tools."""

GRACE = 10
"""Seconds after which a lock on the journal is taken from a process that was killed while it wrote a line."""


def open_journal(folder: Path, settings: StudySettings, seed: int) -> Study:
    """Open or create the study in a folder; BadInput for a journal that cannot be read, or that is none.

    Only one process at a time may open it (`claimed`); several may use it.
    """
    path = (folder / JOURNAL).absolute()
    lock = JournalFileOpenLock(str(path), GRACE)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if os.path.lexists(path):
        lock.acquire()
        try:
            _drop_unfinished_line(path)
        finally:
            lock.release()
    sampler: BaseSampler = RepeatableTpe(seed, settings.budget.random_trials)
    best = StudyDirection.MAXIMIZE if settings.objective.sign > 0 else StudyDirection.MINIMIZE
    try:
        storage = JournalStorage(JournalFileBackend(str(path), lock))
        study = optuna.create_study(
            storage=storage, sampler=sampler, study_name=NAME, direction=best, load_if_exists=True
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError) as error:
        raise _no_journal(path, f"{type(error).__name__}: {error}") from None
    return study


def _drop_unfinished_line(path: Path) -> None:
    """Remove the last line of a process that was killed while it wrote it; the next one would be joined to it.

    Nothing is removed from a file that is not a study's journal, or that lies elsewhere behind a link.
    """
    content = read_bytes(path, LARGEST_JOURNAL, ANEW)
    if path.is_symlink() or (content and f'"study_name":"{NAME}"'.encode() not in content.partition(b"\n")[0]):
        raise _no_journal(path, "a link, or another study's")
    if (whole := content.rfind(b"\n") + 1) < len(content):
        with path.open("rb+") as file:
            file.truncate(whole)
            os.fsync(file.fileno())


def _no_journal(path: Path, why: str) -> BadInput:
    return BadInput(f"{path}: not the journal of this study ({quoted(why, 200)}); {ANEW}")


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
