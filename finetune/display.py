"""The terminal of a run: a progress bar, and lines above it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rich.console import Console

from ..common.progress import plain_console, progress_bar

OUTSIDE = 0.2
"""Fraction of the critic's values outside the returns seen so far, above which the terminal warns."""


class Progress(NamedTuple):
    """Decisions made and left (as planned), the name of the current phase, and the newest row of the log."""

    decisions: int
    remaining: int
    phase: str
    row: dict[str, Any]


class Display:
    """Context manager that shows the bar. Default console: none, which prints nothing."""

    def __init__(self, console: Console | None = None) -> None:
        self._bar = progress_bar("decisions", console or plain_console(quiet=True))
        self._task = self._bar.add_task("starting", total=None)
        self.console = self._bar.console
        self._warned = False

    def __enter__(self) -> "Display":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, line: str) -> None:
        """Print a line."""
        self.console.print(line)

    def show(self, now: str) -> None:
        """Name the work that is being done."""
        self._bar.update(self._task, description=now)

    def count(self, now: Progress) -> None:
        """Show the decisions and the newest figures of the phase; warn once of a critic that diverges."""
        if not self._warned and (warning := outside_warning(now.row)) is not None:
            self._warned = True
            self.say(warning)
        total = now.decisions + now.remaining
        self._bar.update(self._task, description=_described(now.phase, now.row), completed=now.decisions, total=total)


def _described(phase: str, row: dict[str, Any]) -> str:
    if "live/metres" in row:
        return f"{phase}: {row['live/metres']:.1f} m, {row.get('live/finish_share', 0.0):.0%} finish"
    return f"{phase}: return {row['live/return']:.1f}" if "live/return" in row else phase


def outside_warning(row: Mapping[str, Any]) -> str | None:
    """Warning about a critic whose values leave the range of all returns seen, from a row of the log; else None.

    While all returns are the same, as before the first rare reward, any value is outside, which says nothing.
    """
    if row.get("learner/values_outside", 0.0) <= OUTSIDE or row["learner/value_low"] == row["learner/value_high"]:
        return None
    low, high = row["learner/value_low"], row["learner/value_high"]
    return (
        f"warning: after {row['decisions']:,} decisions {row['learner/values_outside']:.0%} of the critic's values are "
        f"beyond the returns seen so far ({low:.3g} to {high:.3g}, scaled): it diverges; lower the learning rate, "
        "or start from a clone"
    )
