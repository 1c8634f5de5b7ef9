"""`qwop-study`: its help, for which nothing is run."""

from ..common.command import Command, run_of
from .settings import StudyCommandSettings

main = Command(
    "study",
    StudyCommandSettings,
    run_of("qwop.study.main"),
    about="Search the settings of a command: each trial with several seeds, the best ones again with fresh seeds.",
    examples=[
        ("qwop-study study=cartpole-dqn", "a study that comes with the package, in runs/study"),
        ("qwop-study study=my/space.yaml out=runs/mine", "one of your own; repeat the command to continue it"),
        ("qwop-study study=cartpole-dqn study.budget.trials=200", "goes on with more trials"),
    ],
)
