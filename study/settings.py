"""The settings of `qwop-study`."""

from dataclasses import dataclass
from pathlib import PurePath

from ..common.checks import quoted
from ..common.errors import BadInput
from ..common.settings import Settings, file_choice, nested, setting
from .commands import COMMANDS, OWN
from .seeds import MOST_RUNS, MOST_STUDIES, MOST_TRIALS
from .space import Parameter, parse_space, plain_space

MAXIMISE, MINIMISE = DIRECTIONS = ("maximise", "minimise")
MEDIAN, NONE = PRUNERS = ("median", "none")


@dataclass(frozen=True, kw_only=True)
class ObjectiveSettings(Settings):
    """The figure that a study optimises."""

    file: str = setting(
        help="JSON file of a run that has the figure, within the run's folder.", example="evaluation.json"
    )
    figure: str = setting(help="The figure's name in the file; dots lead into objects.", example="mean_return")
    direction: str = setting(MAXIMISE, "Direction that is better.", choices=DIRECTIONS)
    goal: float | None = setting(
        None,
        "Value that counts as solved, used by the report to check single runs. null: the worst of the best first runs,"
        " as many as there are finalists.",
    )
    curve: str | None = setting(
        "live/return", "Column of the runs' logs (metrics.jsonl) that the report draws. null: none."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        path = PurePath(self.file)
        if path.is_absolute() or ".." in path.parts:
            raise BadInput(f"file={quoted(self.file)}: expected a path within the run's folder")

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if self.direction == MAXIMISE else -1


@dataclass(frozen=True)
class BudgetSettings(Settings):
    """Number of runs in a study."""

    trials: int = setting(100, "Number of trials: points of the space to try.", at_least=1, at_most=MOST_TRIALS)
    repeats: int = setting(
        3, "Runs of each trial, each with its own seed; their mean is what counts.", at_least=1, at_most=MOST_RUNS
    )
    random_trials: int = setting(10, "Trials drawn at random before the sampler (TPE) learns from them.", at_least=1)
    pruner: str = setting(
        MEDIAN,
        "Rule for pruning trials. median: after each run, prune a trial whose mean so far is worse than the median of "
        "the finished trials' means after as many runs.",
        choices=PRUNERS,
    )
    prune_after: int = setting(5, "Finished trials before any is pruned.", at_least=1)
    finalists: int = setting(5, "Best trials to run again with fresh seeds.", at_least=1, at_most=MOST_TRIALS)
    fresh_seeds: int = setting(
        10, "Fresh seeds of each finalist; the mean over them decides.", at_least=2, at_most=MOST_RUNS
    )


@dataclass(frozen=True, kw_only=True)
class StudySettings(Settings):
    """A study: a command, the settings to search, the figure that counts, and the budget."""

    command: str = setting(help="Command to run.", choices=tuple(COMMANDS), example="qwop-finetune")
    settings: tuple[str, ...] | None = setting(
        None, "Settings of all runs, each as on the command line. null: the command's defaults."
    )
    space: tuple[Parameter, ...] = setting(
        help="Settings to search, by name: {type: float, low: 1e-4, high: 1e-2, log: true}, or int, or {type: "
        "categorical, choices: [16, 64]}.",
        expected="one setting or more, {name: {type: float, low: …}}",
        parse=parse_space,
        plain=plain_space,
        entries=Parameter,
    )
    objective: ObjectiveSettings = nested(ObjectiveSettings, "The figure that counts.")
    budget: BudgetSettings = nested(BudgetSettings, "Trials and runs.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in self.settings or ():
            if one.partition("=")[0].lstrip("+~") in OWN:
                raise BadInput(f"settings={quoted(one)}: the study gives each run its own {' and '.join(OWN)}")
        for parameter in self.space:
            if parameter.name in OWN:
                raise BadInput(f"space.{parameter.name}: the study gives each run its own {' and '.join(OWN)}")


@dataclass(frozen=True, kw_only=True)
class StudyCommandSettings(Settings):
    """The settings of `qwop-study`."""

    out: str = setting("runs/study", "Folder of the study: its journal, runs and report.", written=True)
    seed: int = setting(0, "Decides everything random.", at_least=0, at_most=MOST_STUDIES)
    keep_checkpoints: bool = setting(
        False, "Keep the checkpoints and TensorBoard files of all runs, which may take much disk space."
    )
    study: StudySettings = file_choice(
        "study",
        "Settings to search, and the figure that counts. A path that ends in .yaml is a study of your own.",
        example="cartpole-dqn",
    )
