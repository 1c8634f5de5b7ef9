"""A study's journal: Optuna's record of trials in one file, shared by several processes and robust against kills."""

import math
import os
from contextlib import ExitStack
from pathlib import Path

import optuna
from optuna.pruners import BasePruner, NopPruner
from optuna.samplers import BaseSampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import Study, StudyDirection
from optuna.trial import TrialState

from ..common.checks import quoted
from ..common.errors import BadInput
from ..common.folder_lock import lock_waiting
from ..common.reading import MEGABYTE, read_bytes
from .results import STARTS, VALUES, WHY
from .sampler import MedianPruner, RepeatableTpe
from .settings import MAXIMISE, MEDIAN, StudySettings

JOURNAL = "journal.log"

LARGEST_JOURNAL = 256 * MEGABYTE

ANEW = "start anew with another out"

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
    if not os.path.lexists(path):
        path.touch()
    with lock_waiting(path):
        _drop_unfinished_line(path)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner: BasePruner = MedianPruner(settings.budget.prune_after) if settings.budget.pruner == MEDIAN else NopPruner()
    sampler: BaseSampler = RepeatableTpe(seed, settings.budget.random_trials)
    best = StudyDirection.MAXIMIZE if settings.objective.direction == MAXIMISE else StudyDirection.MINIMIZE
    try:
        storage = JournalStorage(JournalFileBackend(str(path), JournalLock(path)))
        study = optuna.create_study(
            storage=storage, sampler=sampler, pruner=pruner, study_name=NAME, direction=best, load_if_exists=True
        )
        _check(study, settings)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError) as error:
        reason = quoted(f"{type(error).__name__}: {error}", 200)
        raise BadInput(f"{path}: not the journal of this study ({reason}); {ANEW}") from None
    return study


def _check(study: Study, settings: StudySettings) -> None:
    """Raise ValueError for values in the journal of other kinds than this program writes."""
    names = {one.name for one in settings.space}
    for trial in study.get_trials(deepcopy=False):
        found, figures = trial.user_attrs, trial.user_attrs.get(VALUES, [])
        if not (set(trial.params) <= names and isinstance(figures, list) and all(map(_is_figure, figures))):
            raise ValueError(f"trial {trial.number} has other values")
        if type(found.get(STARTS, 0)) is not int or not isinstance(found.get(WHY, ""), str):
            raise ValueError(f"trial {trial.number} has other attributes")
        if trial.state is TrialState.COMPLETE and not (set(trial.params) == names and figures):
            raise ValueError(f"trial {trial.number} is complete without its values")
    for name, figure in study.user_attrs.items():
        if figure is not None and not _is_figure(figure):
            raise ValueError(f"{name} is {figure!r:.60}")


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _drop_unfinished_line(path: Path) -> None:
    """Remove an unfinished last line of a killed process, which would corrupt the next one."""
    content = read_bytes(path, LARGEST_JOURNAL, ANEW)
    with path.open("rb+") as file:
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
            file.flush()
            os.fsync(file.fileno())
