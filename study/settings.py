"""The settings of `qwop-study`."""

from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import Field

from ..commands import evaluate, finetune, pretrain
from ..common.command import Command
from ..common.errors import BadInput, quoted
from ..common.schema import Files
from ..common.settings import Count, OutFolder, Settings, Several
from .space import Space

MOST_TRIALS = 10_000
MOST_RUNS = 100
"""Runs of a trial in the search, and of a finalist afterwards, at most."""

MOST_STUDIES = 1000
"""Largest seed of a study; that of its last run still is a seed of a command."""


def search_seed(study: int, trial: int, run: int) -> int:
    """The seed of a trial's run in the search. Numbers count from 0."""
    return 2 * _number(study, trial, run)


def fresh_seed(study: int, trial: int, run: int) -> int:
    """The seed of a finalist's run after the search, which no run of any search has."""
    return 2 * _number(study, trial, run) + 1


def _number(study: int, trial: int, run: int) -> int:
    if not (0 <= study <= MOST_STUDIES and 0 <= trial < MOST_TRIALS and 0 <= run < MOST_RUNS):
        raise ValueError(f"study {study}, trial {trial}, run {run}: out of range")
    return (study * MOST_TRIALS + trial) * MOST_RUNS + run


COMMANDS: dict[str, Command[Any]] = {command.program: command for command in (finetune, pretrain, evaluate)}
"""The commands that a study can search: those with a folder and a seed for each run."""

OWN = ("out", "seed")
"""Settings that a study gives each run."""

MAXIMISE, MINIMISE = DIRECTIONS = ("maximise", "minimise")
MEDIAN, NONE = PRUNERS = ("median", "none")


class ObjectiveSettings(Settings):
    """The figure that a study optimises."""

    file: Annotated[str, Field(examples=["evaluation.json"])]
    """JSON file of a run that has the figure, within the run's folder."""
    figure: Annotated[str, Field(examples=["mean_return"])]
    """The figure's name in the file; dots lead into objects."""
    direction: Literal["maximise", "minimise"] = "maximise"
    """Direction that is better."""

    def check(self) -> None:
        path = PurePath(self.file)
        if path.is_absolute() or ".." in path.parts:
            raise BadInput(f"file={quoted(self.file)}: expected a path within the run's folder")

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if self.direction == MAXIMISE else -1


class BudgetSettings(Settings):
    """Number of runs in a study."""

    trials: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 100
    """Number of trials: points of the space to try."""
    repeats: Annotated[int, Field(ge=1, le=MOST_RUNS)] = 3
    """Runs of each trial, each with its own seed; their mean is what counts."""
    random_trials: Count = 10
    """Trials drawn at random before the sampler (TPE) learns from them."""
    pruner: Literal["median", "none"] = "median"
    """Rule for pruning trials. median: after each run, prune a trial whose mean so far is worse than the median of the
    finished trials' means after as many runs."""
    prune_after: Count = 5
    """Finished trials before any is pruned."""
    finalists: Annotated[int, Field(ge=1, le=MOST_TRIALS)] = 5
    """Best trials to run again with fresh seeds."""
    fresh_seeds: Annotated[int, Field(ge=2, le=MOST_RUNS)] = 10
    """Fresh seeds of each finalist; the mean over them decides."""


class StudySettings(Settings):
    """A study: a command, the settings to search, the figure that counts, and the budget."""

    command: Annotated[Literal["qwop-finetune", "qwop-pretrain", "qwop-evaluate"], Field(examples=["qwop-finetune"])]
    """Command to run."""
    settings: Several[str] | None = None
    """Settings of all runs, each as on the command line. null: the command's defaults."""
    space: Space
    """Settings to search, by name: {type: float, low: 1e-4, high: 1e-2, log: true}, or int, or {type: categorical,
    choices: [16, 64]}."""
    objective: ObjectiveSettings
    """The figure that counts."""
    budget: BudgetSettings = BudgetSettings()
    """Trials and runs."""

    def check(self) -> None:
        for one in self.settings or ():
            if one.partition("=")[0].lstrip("+~") in OWN:
                raise BadInput(f"settings={quoted(one)}: the study gives each run its own {' and '.join(OWN)}")
        for parameter in self.space:
            if parameter.name in OWN:
                raise BadInput(f"space.{parameter.name}: the study gives each run its own {' and '.join(OWN)}")


class StudyCommandSettings(Settings):
    """The settings of `qwop-study`."""

    out: OutFolder = "runs/study"
    """Folder of the study: its journal, runs and report."""
    seed: Annotated[int, Field(ge=0, le=MOST_STUDIES)] = 0
    """Decides everything random."""
    keep_checkpoints: bool = False
    """Keep the checkpoints and TensorBoard files of all runs, which may take much disk space."""
    study: Annotated[StudySettings, Files("cartpole-dqn")]
    """Settings to search, and the figure that counts. A path that ends in .yaml is a study of your own."""
