"""`qwop-record`: games from a source into a dataset."""

import os
from datetime import datetime
from importlib import import_module
from pathlib import Path

from rich.console import Console

from ..common.ends import Deferred
from ..common.errors import BadInput
from ..common.files import own_name, require_writable_folder, write_atomic
from ..common.progress import plain_console, progress_bar
from ..common.run_folder import CONFIGURATION, clone_next, next_command, to_yaml, unused
from ..datasets.describe import describe
from ..datasets.folder import ASIDE, DESCRIPTION, next_number, subfolder
from ..datasets.writer import DatasetWriter
from .game_writer import GameWriter, record_interrupted
from .settings import EnvironmentPageSettings, RecorderPageSettings, RecordSettings, SourceSettings
from .source import Source

CORRECTED_ELSEWHERE = {"schedule": "from-any-clone", "schedule.phases.alone.imitation": [0.3, 0.0]}
"""Settings of qwop-finetune with which corrections in another environment than QWOP are learned."""


def run(settings: RecordSettings) -> None:
    """Record all games of the source, each a whole file as soon as it has ended, and print the dataset's summary."""
    console = plain_console()
    folder = Path(settings.folder)
    require_writable_folder(folder, "dataset")
    if (folder / CONFIGURATION).exists() and not (folder / DESCRIPTION).exists():
        raise BadInput(f"dataset={folder}: holds a run, not a dataset; give dataset= another folder")
    interrupted = record_interrupted(folder)
    source = open_source(settings.source, folder)
    writer = DatasetWriter(folder, source.info)
    _keep_configuration(settings.with_(dataset=str(folder)), folder)
    for note in interrupted:
        console.print(note)
    record(source, GameWriter(writer), console)
    if next_number(folder) == 0:
        console.print(f"nothing was recorded into {folder}")
    else:
        console.print(describe(folder).table(f"{folder}"))
        console.print(_next(settings, source, folder))


def _next(settings: RecordSettings, source: Source, folder: Path) -> str:
    """The line that names the command for what was recorded."""
    coached = isinstance(settings.source, RecorderPageSettings | EnvironmentPageSettings)
    policy = getattr(settings.source, "policy", None)
    if not coached or policy is None:
        return clone_next(folder)
    more: dict[str, object] = {"schedule": "corrections"}
    if not source.info.environment.capabilities.keys:
        more |= CORRECTED_ELSEWHERE
    out = unused(Path("runs") / own_name(folder))
    return next_command("qwop-finetune", policy=policy, demonstrations=folder, **more, out=out)


def open_source(settings: SourceSettings, folder: Path) -> Source:
    """Open the source with these settings. Imports the dependencies of that source only, as some are extras."""
    module, name = settings.opener.split(":")
    source: Source = getattr(import_module(module, __package__), name)(settings, folder)
    return source


def record(source: Source, games: GameWriter, console: Console) -> None:
    """Print the source's notes, and write each episode as it ends; Ctrl-C ends games under way, and those that a person
    plays are kept.

    Ctrl-C is the normal end of a source of unknown length, and interrupts any other source.
    """
    try:
        try:
            for note in source.notes:
                console.print(note)
            with progress_bar("games", console) as progress:
                task = progress.add_task("recording", total=source.total)
                games.on_game = lambda: progress.advance(task)
                source.record(games)
        finally:
            with Deferred(patient=True) as signals:
                source.finish()
                games.close()
            signals.deliver()
    except KeyboardInterrupt:
        console.print(f"stopped; all finished games are in {games.folder}")
        if source.total is not None:
            raise


def _keep_configuration(settings: RecordSettings, folder: Path) -> None:
    """Write this recording's settings next to those of earlier recordings in the dataset."""
    name = f"recording-{datetime.now():%Y-%m-%dT%H-%M-%S.%f}-{os.getpid()}.yaml"
    write_atomic(subfolder(folder, ASIDE) / name, to_yaml(settings))
