"""A study's journal: Optuna's record of trials in one file, shared by several processes and robust against kills."""

import os
from contextlib import ExitStack
from pathlib import Path

import optuna
from optuna.pruners import BasePruner, NopPruner
from optuna.samplers import BaseSampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import Study, StudyDirection

from ..common.errors import BadInput
from ..common.folder_lock import lock_waiting
from .pruner import MedianPruner
from .sampler import RepeatableTpe
from .settings import MAXIMISE, MEDIAN, StudySettings

JOURNAL = "journal.log"

NAME = "study"
"""The study's name in its journal, for Optuna's own tools."""


class JournalLock(JournalFileOpenLock):
    """A lock on the journal that is released when its process dies; Optuna's own locks are not."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path
        self._held = ExitStack()

    def acquire(self) -> bool:
        self._held.enter_context(lock_waiting(self._path))
        return True

    def release(self) -> None:
        self._held.close()


def open_journal(folder: Path, settings: StudySettings, seed: int) -> Study:
    """Open or create the study in a folder; BadInput for a journal that cannot be read."""
    path = (folder / JOURNAL).absolute()
    path.touch()
    lock = JournalLock(path)
    lock.acquire()
    try:
        _drop_unfinished_line(path)
    finally:
        lock.release()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner: BasePruner = MedianPruner(settings.budget.prune_after) if settings.budget.pruner == MEDIAN else NopPruner()
    sampler: BaseSampler = RepeatableTpe(seed, settings.budget.random_trials)
    best = StudyDirection.MAXIMIZE if settings.objective.direction == MAXIMISE else StudyDirection.MINIMIZE
    try:
        storage = JournalStorage(JournalFileBackend(str(path), lock))
        return optuna.create_study(
            storage=storage, sampler=sampler, pruner=pruner, study_name=NAME, direction=best, load_if_exists=True
        )
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise BadInput(f"{path}: not the journal of a study ({error}); start anew with another out") from None


def _drop_unfinished_line(path: Path) -> None:
    """Remove an unfinished last line of a killed process, which would corrupt the next one."""
    with path.open("rb+") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
            file.flush()
            os.fsync(file.fileno())
