"""The settings of `qwop-study`."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from ..commands import evaluate, finetune, pretrain
from ..common.command import Command
from ..common.errors import BadInput, quoted
from ..common.schema import Entries, Files
from ..common.settings import Count, OutFolder, Settings, Several

if TYPE_CHECKING:
    from optuna.trial import Trial  # --help does without it

FLOAT, INT, CATEGORICAL = ("float", "int", "categorical")

Values = Mapping[str, str]
"""A point of the space: each setting's value as on the command line."""


class Parameter(Settings):
    """A setting that a study searches."""

    name: str
    """The setting, as on the command line."""
    type: Annotated[Literal["float", "int", "categorical"], Field(examples=[FLOAT])]
    """Kind of its values."""
    low: float | None = None
    """Lowest value of a number."""
    high: float | None = None
    """Highest value of a number."""
    log: bool = False
    """Draw a number uniformly in its logarithm."""
    choices: Several[str] | None = None
    """Values of a categorical setting, as on the command line; a list in quotes, '[64, 64]'."""

    def check(self) -> None:
        kind, values = self.type, {name: getattr(self, name) for name in ("low", "high", "choices")}
        for name, value in values.items():
            if value is not None and (name == "choices") is not (kind == CATEGORICAL):
                raise BadInput(f"{name}={quoted(value)}: not with type={kind}")
            if value is None and (name == "choices") is (kind == CATEGORICAL):
                raise BadInput(f"{name} is missing: type={kind} needs it")
        if self.choices is not None:
            if self.log:
                raise BadInput("log=true: not with type=categorical")
            if len(set(self.choices)) < max(2, len(self.choices)):
                raise BadInput(f"choices={quoted(self.choices)}: expected two different values or more")
            return
        low, high = self._range
        for name, value in (("low", low), ("high", high)) if kind == INT else ():
            if value != int(value):
                raise BadInput(f"{name}={quoted(value)}: expected a whole number, for type=int")
        if not low < high:
            raise BadInput(f"low={quoted(low)}: expected a number below high, {quoted(high)}")
        if self.log and low <= 0:
            positive = "at least 1" if kind == INT else "more than 0"
            raise BadInput(f"low={quoted(low)}: expected {positive}, for log=true")

    @property
    def _range(self) -> tuple[float, float]:
        assert self.low is not None
        assert self.high is not None
        return self.low, self.high

    def suggest(self, trial: "Trial") -> str:
        """The value that a trial has, or draws now, as on the command line."""
        if self.choices is not None:
            return self.in_words(trial.suggest_categorical(self.name, self.choices))
        low, high = self._range
        if self.type == INT:
            return self.in_words(trial.suggest_int(self.name, int(low), int(high), log=self.log))
        return self.in_words(trial.suggest_float(self.name, low, high, log=self.log))

    @property
    def extremes(self) -> tuple[str, ...]:
        """The ends of the range, or all choices, as on the command line."""
        return self.choices if self.choices is not None else tuple(map(self.in_words, self._range))

    def in_words(self, value: Any) -> str:
        """A value that Optuna suggests, as on the command line."""
        if self.type == INT:
            return str(int(value))
        return repr(float(value)) if self.type == FLOAT else str(value)


Space = Annotated[tuple[Parameter, ...], Entries(Parameter, "one setting or more, {name: {type: float, low: …}}")]


def in_words(space: Sequence[Parameter], values: Mapping[str, Any]) -> Values:
    """Optuna's values as on the command line."""
    return {one.name: one.in_words(values[one.name]) for one in space}


MOST_TRIALS = 10_000
MOST_RUNS = 100
"""Runs of a trial in the search, and of a finalist afterwards, at most."""

MOST_STUDIES = 1000
"""Largest seed of a study; that of its last run still is a seed of a command."""


def seed_of(study: int, trial: int, run: int, *, fresh: bool = False) -> int:
    """The seed of a trial's run; numbers count from 0. fresh: of a finalist's run after the search, which no run of any
    search has."""
    return 2 * ((study * MOST_TRIALS + trial) * MOST_RUNS + run) + fresh


COMMANDS: dict[str, Command[Any]] = {command.program: command for command in (finetune, pretrain, evaluate)}
"""The commands that a study can search: those with a folder and a seed for each run."""

OWN = ("out", "seed")
"""Settings that a study gives each run."""


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
        return 1 if self.direction == "maximise" else -1


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
    study: Annotated[StudySettings, Files("cartpole-dqn")]
    """Settings to search, and the figure that counts. A path that ends in .yaml is a study of your own."""
