"""`qwop-population`: a population of agents that race against each other, learn and evolve."""

from pathlib import Path

from ..common.command import Command
from ..common.folder_lock import exclusive_lock
from .settings import FIRST, PopulationSettings


def run(settings: PopulationSettings) -> None:
    """Train and evolve the population; write policies, checkpoints, history, report and evaluation to `out`."""
    from .run import Run  # with PyTorch, which --help does without

    with exclusive_lock(Path(settings.out), "out", within=("checkpoints", "agents", FIRST)):
        Run(settings).run()


main = Command(
    "population",
    PopulationSettings,
    run,
    about="Train a population of agents that race each other and evolve: better agents are copied, with small changes "
    "of their hyper-parameters and internal rewards.",
    examples=[
        ("qwop-population", "12 agents from scratch; the report is updated during the run"),
        ("qwop-population rivals=[champion] race.frames_per_step=1", "the champion races along, 30 decisions a second"),
        (
            "qwop-population teachers=[champion,champion] race.frames_per_step=1",
            "two agents learn from the champion how to run",
        ),
        ("qwop-population resume=true rounds=2000", "continue the run in runs/population, further"),
        ("qwop-population agent=ftw evolution.enabled=false", "two-timescale agents, and no copying"),
        ("qwop-population environment=CartPole-v1 work.num_games=8", "any environment: matches compare returns"),
        ("qwop-population +distributed=ray distributed.actors=8", "the same, with eight workers"),
    ],
)
