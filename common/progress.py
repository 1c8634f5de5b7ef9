"""The progress bar of every command that takes long."""

from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class RateColumn(ProgressColumn):
    """The rate a second, or a minute where that is less than one.

    At the end it is at most the mean rate, because Rich's is that of a moment if much is counted at once.
    """

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if speed and task.finished_time:
            speed = min(speed, task.completed / task.finished_time)
        if not speed:
            return Text("")
        rate = f"{speed:,.1f} {self.unit}/s" if speed >= 1 else f"{speed * 60:,.1f} {self.unit}/min"
        return Text(rate, style="progress.data.speed")


class _LeftColumn(TimeRemainingColumn):
    """The time left; nothing where nobody knows how much there is to do."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else Text("left ").append(super().render(task))


class _PlainConsole(Console):
    def print(self, *objects: Any, soft_wrap: bool | None = None, **how: Any) -> None:
        texts = all(isinstance(one, str) for one in objects)
        super().print(*objects, soft_wrap=texts if soft_wrap is None else soft_wrap, **how)


def plain_console(*, quiet: bool = False) -> Console:
    """A terminal that prints texts as they are: without markup, colours and line breaks of its own. quiet: nothing."""
    return _PlainConsole(markup=False, emoji=False, highlight=False, quiet=quiet)


def progress_bar(unit: str, console: Console | None = None) -> Progress:
    """A bar that counts `unit` ('games'), with the rate and the time left; to be used as a context."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(unit),
        TimeElapsedColumn(),
        _LeftColumn(),
        console=console,
        refresh_per_second=4,
        disable=console is not None and console.quiet,  # or it would swallow what others print
    )
