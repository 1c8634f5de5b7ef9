"""Trackers: programs that show the figures of a run while it trains.

`metrics.jsonl`, reports and results do not depend on them. Trackio (the extra `trackio`) keeps its figures in the
user's own files and shows them by `trackio show`, without an account.
"""

from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

from .errors import BadInput
from .settings import setting

TENSORBOARD, TRACKIO, BOTH, NONE = TRACKERS = ("tensorboard", "trackio", "both", "none")

PROJECT = "qwop"
"""Trackio's project of all runs; a run is named by its folder."""

FLUSH_SECONDS = 5
"""Time between two flushes of TensorBoard's file."""


def tracker() -> Any:
    """The setting of a command that trains."""
    return setting(
        TENSORBOARD,
        "Tracker that shows the run as it goes on: tensorboard, trackio (an extra; no account needed), both or none.",
        choices=TRACKERS,
    )


class Tracker(Protocol):
    """A place for figures by name and step."""

    def add_scalar(self, name: str, value: float, step: int) -> None: ...

    def close(self) -> None: ...


def require_tracker(kind: str) -> None:
    """Raise BadInput unless the tracker is installed."""
    if kind in (TRACKIO, BOTH) and find_spec("trackio") is None:
        raise BadInput(
            f"tracker={kind}: Trackio is not installed; pip install 'qwop[trackio]', or tracker={TENSORBOARD}"
        )


def open_tracker(kind: str, folder: Path, resume_at: int | None = None) -> Tracker:
    """The tracker of the run in `folder`, begun, or continued at a step (TensorBoard drops its figures after that)."""
    require_tracker(kind)
    parts: list[Tracker] = []
    if kind in (TENSORBOARD, BOTH):
        from torch.utils.tensorboard import SummaryWriter  # takes long to import

        parts.append(SummaryWriter(str(folder / TENSORBOARD), purge_step=resume_at, flush_secs=FLUSH_SECONDS))
    if kind in (TRACKIO, BOTH):
        parts.append(_Trackio(str(folder)))
    return _All(parts)


class _All:
    """Any number of trackers."""

    def __init__(self, parts: Sequence[Tracker]) -> None:
        self._parts = parts

    def add_scalar(self, name: str, value: float, step: int) -> None:
        for part in self._parts:
            part.add_scalar(name, value, step)

    def close(self) -> None:
        for part in self._parts:
            part.close()


class _Trackio:
    """Figures for Trackio, which takes all those of a step at once."""

    def __init__(self, name: str) -> None:
        import trackio

        with redirect_stdout(StringIO()):  # several lines on its dashboard, through a progress bar
            self._run = trackio.init(project=PROJECT, name=name, resume="allow", embed=False)
        self._trackio = trackio
        self._step, self._figures = 0, dict[str, float]()

    def add_scalar(self, name: str, value: float, step: int) -> None:
        if step != self._step:
            self._send()
        self._step = step
        self._figures[name] = value

    def close(self) -> None:
        self._send()
        with redirect_stdout(StringIO()):
            self._trackio.finish()

    def _send(self) -> None:
        if self._figures:
            self._trackio.log(self._figures, step=self._step)
            self._figures = {}
