"""`qwop-population`: a population of agents that race against each other, learn and evolve."""

from pathlib import Path

from ..common.folder_lock import exclusive_lock
from .settings import FIRST, PopulationSettings


def run(settings: PopulationSettings) -> None:
    """Train and evolve the population; write policies, checkpoints, history, report and evaluation to `out`."""
    from .run import Run  # with PyTorch, which --help does without

    with exclusive_lock(Path(settings.out), "out", within=("checkpoints", "agents", FIRST)):
        Run(settings).run()
