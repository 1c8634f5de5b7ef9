"""The terminal of a run: a progress bar, and lines above it."""

from typing import Any, NamedTuple

from rich.console import Console

from ..common.progress import plain_console, progress_bar


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
        """Show the decisions and the newest figures of the phase."""
        total = now.decisions + now.remaining
        self._bar.update(self._task, description=_described(now.phase, now.row), completed=now.decisions, total=total)


def _described(phase: str, row: dict[str, Any]) -> str:
    if "live/metres" in row:
        return f"{phase}: {row['live/metres']:.1f} m, {row.get('live/finish_share', 0.0):.0%} finish"
    return f"{phase}: return {row['live/return']:.1f}" if "live/return" in row else phase
