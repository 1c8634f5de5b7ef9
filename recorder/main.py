"""`qwop-record`: games from a source into a dataset."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from rich.console import Console

from ..common.command import CONFIGURATION, to_yaml
from ..common.command_line import clone_next, next_command, unused
from ..common.errors import BadInput
from ..common.files import require_writable_folder, write_atomic
from ..common.interrupts import Deferred
from ..common.progress import plain_console, progress_bar
from ..datasets.describe import describe
from ..datasets.folder import DESCRIPTION, RECORDINGS, next_number
from ..datasets.writer import DatasetWriter
from .rescue_writer import RescuingWriter
from .settings import (
    BrowserSettings,
    EnvironmentPageSettings,
    ImportSettings,
    KeyboardSettings,
    KeysSettings,
    PolicySettings,
    RecorderPageSettings,
    RecordSettings,
    ScriptedSettings,
    SourceSettings,
)
from .source import Source

CORRECTED_ELSEWHERE = {"algorithm": "ppo-small", "schedule.decisions": 200_000}
"""Settings of qwop-finetune with which corrections in another environment than QWOP are learned."""


def run(settings: RecordSettings) -> None:
    """Record all games of the source, each a whole file as soon as it has ended, and print the dataset's summary."""
    console = plain_console()
    folder = Path(settings.folder)
    require_writable_folder(folder, "dataset")
    if (folder / CONFIGURATION).exists() and not (folder / DESCRIPTION).exists():
        raise BadInput(f"dataset={folder}: holds a run, not a dataset; give dataset= another folder")
    source = open_source(settings.source, folder)
    writer = DatasetWriter(folder, source.info)
    _keep_configuration(replace(settings, dataset=str(folder)), folder)
    for note in source.notes:
        console.print(note)
    record(source, RescuingWriter(writer), console)
    if next_number(folder) == 0:
        console.print(f"nothing was recorded into {folder}")
    else:
        console.print(describe(folder).table(f"{folder}"))
        console.print(_next(settings, source, folder))


def _next(settings: RecordSettings, source: Source, folder: Path) -> str:
    """The line that names the command for what was recorded."""
    if not source.info.shares_control:
        return clone_next(folder)
    assert isinstance(settings.source, RecorderPageSettings | EnvironmentPageSettings | ScriptedSettings)
    policy = settings.source.policy
    more: dict[str, object] = {"out": unused(Path("runs") / folder.name)}
    if not source.info.environment.capabilities.keys:
        more |= CORRECTED_ELSEWHERE
    return next_command("qwop-finetune", policy=policy, schedule="corrections", demonstrations=folder, **more)


def open_source(settings: SourceSettings, folder: Path) -> Source:
    """Open the source with these settings. Imports the dependencies of that source only, as some are extras."""
    match settings:
        case RecorderPageSettings() | EnvironmentPageSettings() if settings.policy is not None:
            from .coaching.page_source import open_coached_page

            return open_coached_page(settings, folder)
        case RecorderPageSettings():
            from .play.source import open_page

            return open_page(settings, folder)
        case EnvironmentPageSettings():
            from .page.environment_source import open_environment

            return open_environment(settings, folder)
        case BrowserSettings():
            from .original.source import open_browser_source

            return open_browser_source(settings, folder)
        case KeyboardSettings():
            from .keyboard.source import open_keyboard

            return open_keyboard(settings, folder)
        case PolicySettings():
            from ..policies.threads import use_one_thread
            from .policy_source import open_policy

            use_one_thread()
            return open_policy(settings, folder)
        case ScriptedSettings():
            from ..policies.threads import use_one_thread
            from .coaching.scripted_source import open_scripted

            use_one_thread()
            return open_scripted(settings, folder)
        case ImportSettings():
            from .published.source import open_import

            return open_import(settings, folder)
        case KeysSettings():
            from .keys_source import open_keys

            return open_keys(settings, folder)


def record(source: Source, writer: RescuingWriter, console: Console) -> None:
    """Write each episode of the source as it ends; Ctrl-C ends games under way, and those that a person plays are kept.

    Ctrl-C is the normal end of a source of unknown length, and interrupts any other source.
    """
    try:
        try:
            with progress_bar("games", console) as progress:
                task = progress.add_task("recording", total=source.total)
                for episode in source.episodes:
                    with _after_interrupts():
                        source.written(writer.write(episode))
                    progress.advance(task)
        finally:
            with _after_interrupts():
                for episode in source.finish():
                    writer.write(episode)
    except KeyboardInterrupt:
        console.print(f"stopped; all finished games are in {writer.folder}")
        if source.total is not None:
            raise


@contextmanager
def _after_interrupts() -> Iterator[None]:
    """Delay Ctrl-C, SIGTERM and SIGHUP until the end of the context, so that a game being written is finished."""
    with Deferred(patient=True) as signals:
        yield
    signals.deliver()


def _keep_configuration(settings: RecordSettings, folder: Path) -> None:
    """Write this recording's settings next to those of earlier recordings in the dataset."""
    name = f"{datetime.now():%Y-%m-%dT%H-%M-%S.%f}-{os.getpid()}.yaml"
    write_atomic(folder / RECORDINGS / name, to_yaml(settings))
