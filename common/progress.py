"""The progress bar of every command that takes long."""

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class RateColumn(ProgressColumn):
    """The rate a second, or a minute where that is less than one."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed or 0.0
        rate = f"{speed:,.1f} {self.unit}/s" if speed >= 1 else f"{speed * 60:,.1f} {self.unit}/min"
        return Text(rate if speed else "", style="progress.data.speed")


class _PlainConsole(Console):
    def print(self, *objects: Any, soft_wrap: bool | None = None, **how: Any) -> None:
        texts = all(isinstance(one, str) for one in objects)
        super().print(*objects, soft_wrap=texts if soft_wrap is None else soft_wrap, **how)


def plain_console(*, quiet: bool = False) -> Console:
    """A terminal that prints texts as they are: without markup, colours and line breaks of its own. quiet: nothing."""
    return _PlainConsole(markup=False, emoji=False, highlight=False, quiet=quiet)


def progress_bar(unit: str, console: Console | None = None) -> Progress:
    """A bar that counts `unit` ('games'), with the rate and the time left, in the end that taken; a context."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(unit),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        refresh_per_second=4,
        disable=console is not None and console.quiet,  # or it would swallow what others print
    )
