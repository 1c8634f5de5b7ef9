"""Trackers: programs that show the figures of a run while it trains.

`metrics.jsonl`, reports and results do not depend on them. TensorBoard's files lie in the run's folder. W&B (the extra
`wandb`) and Trackio (the extra `trackio`, without an account) get the run's settings, too.
"""

import os
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

from .ends import close_after_use
from .errors import BadInput
from .files import write_atomic

TENSORBOARD, WANDB, TRACKIO, NONE = TRACKERS = ("tensorboard", "wandb", "trackio", "none")

PROJECT = "qwop"
"""The project of all runs, unless the variable WANDB_PROJECT names another. A run is named by its folder, and its group
by the folder above."""

ID = "wandb.txt"
"""File in a run's folder with the run's id at W&B, which continues it there."""


def require_tracker(kind: str) -> None:
    """Raise BadInput unless the tracker is installed."""
    if kind in (WANDB, TRACKIO) and find_spec(kind) is None:
        raise BadInput(f"tracker={kind}: {kind} is not installed; pip install 'qwop[{kind}]', or tracker={TENSORBOARD}")


class Tracker:
    """A place for figures by name, after a number of decisions or passes.

    A run in `folder` is begun, or continued at a step (TensorBoard drops its figures after that). settings: of the run,
    as plain data.
    """

    def __init__(
        self, kind: str, folder: Path, settings: Mapping[str, object] | None = None, resume_at: int | None = None
    ) -> None:
        require_tracker(kind)
        self._kind = kind
        self._run: Any = None
        if kind == TENSORBOARD:
            from torch.utils.tensorboard import SummaryWriter  # takes long to import

            self._run = SummaryWriter(str(folder / TENSORBOARD), purge_step=resume_at, flush_secs=5)
        elif kind != NONE:
            self._run = _run(kind, folder, settings or {}, resume_at is not None)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        if self._kind == TENSORBOARD:
            for name, value in figures.items():
                self._run.add_scalar(name, value, step)
        elif self._kind == TRACKIO:
            self._run.log(dict(figures), step=step)
        elif self._kind == WANDB:  # which refuses the step of an earlier row, such as that of a clone's second split
            self._run.log({**figures, "step": step})

    def close(self) -> None:
        if self._run is not None:
            with redirect_stdout(StringIO()):
                close_after_use(getattr(self._run, "finish", None) or self._run.close, f"tracker {self._kind}")


def _run(kind: str, folder: Path, settings: Mapping[str, object], again: bool) -> Any:
    """A run at W&B or in Trackio, whose calls are the same."""
    of = folder.absolute()
    more: dict[str, object] = {"embed": False}
    if kind == WANDB:
        if not (again and (folder / ID).exists()):
            write_atomic(folder / ID, uuid4().hex[:12])
        more = {"id": (folder / ID).read_text(encoding="utf-8").strip(), "dir": str(of)}
    with redirect_stdout(StringIO()):  # several lines on its dashboard, through a progress bar
        run = import_module(kind).init(
            project=os.environ.get("WANDB_PROJECT", PROJECT), name=str(folder), group=of.parent.name,
            config=dict(settings), resume="allow" if again else "never", **more,
        )  # fmt: skip
    if kind == WANDB:
        run.define_metric("*", step_metric="step")
    return run
