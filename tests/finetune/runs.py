"""Runs for the tests, built as the command builds them."""

from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.datasets.reader import Dataset
from qwop.finetune.agents.settings import LiveSettings
from qwop.finetune.loop import Loop, Observer
from qwop.finetune.reports.run_log import RunLog
from qwop.finetune.run import Run
from qwop.finetune.schedules.phase import Phase, PhaseValues
from qwop.finetune.settings import FinetuneSettings, ScheduleSettings
from qwop.policies.policy import Policy

NOW = PhaseValues(gamma=0.99)
"""Values of a phase that asks for nothing special."""


def make_run(
    phases: tuple[Phase, ...],
    algorithm: Any,
    loop: LiveSettings,
    policy: Policy,
    demonstrations: Dataset | None = None,
    log: RunLog | None = None,
    folder: Path = Path("nowhere"),
    observer: Observer | None = None,
    **settings: Any,
) -> Run[Any, Any]:
    """A run whose checkpoints are in `folder/checkpoints`. log: one that is open where the run is to be carried out."""
    chosen = FinetuneSettings(schedule=ScheduleSettings(phases=phases), algorithm=algorithm, loop=loop, **settings)
    return Run(
        chosen,
        policy,
        demonstrations,
        torch.device("cpu"),
        log or RunLog(folder),
        folder / "checkpoints",
        observer=observer or Observer(),
    )


class _Killed(Exception):
    """The end of a run that is killed."""


def run_until(loop: Loop, decisions: int) -> None:
    """Carry out a run that is killed at its first checkpoint at or after so many decisions."""
    checkpoint = loop._checkpoint

    def killed() -> None:
        checkpoint()
        if loop.decisions >= decisions:
            raise _Killed

    loop._checkpoint = killed
    with pytest.raises(_Killed):
        loop.run()
