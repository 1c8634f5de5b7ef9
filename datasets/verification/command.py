"""`qwop-dataset verify`: check everything about a dataset."""

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

from pydantic import Field
from rich.console import Console

from ...common.command_line import clone_next
from ...common.cores import cores
from ...common.errors import BadInput
from ...common.folder_lock import FolderLock
from ...common.progress import plain_console, progress_bar
from ...common.settings import HomePath, Settings
from ..folder import ASIDE, dataset_command, set_aside
from ..subcommand import Subcommand
from .files import Verification
from .problem import Problem


class VerifySettings(Settings):
    """The dataset to verify."""

    dataset: Annotated[HomePath, Field(examples=["data/me"])]
    """Folder of the dataset."""
    replay: bool = False
    """Also replay every game from its keys, and compare observations, rewards and ending to the bit."""
    set_aside: bool = Field(
        default=False,
        description="Move faulty episodes, and Parquet files that are no episodes, into the dataset's folder "
        f"{ASIDE}. Nothing is deleted.",
    )
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Files checked at a time. null: one for each core."""


def run(settings: VerifySettings) -> None:
    """Check the files and print a line for every problem; BadInput unless all are harmless."""
    console = plain_console()
    folder = Path(settings.dataset)
    began = time.monotonic()
    verification = Verification(folder, replay=settings.replay, threads=settings.threads or cores())
    with progress_bar("episodes", console) as progress:
        task = progress.add_task("verifying", total=len(verification.files))
        for _ in verification.episodes():
            progress.advance(task)
    found = [problem for one in verification.checked for problem in one.problems] + list(verification.of_folder())
    faults, notes = [one for one in found if not one.harmless], [one for one in found if one.harmless]
    for note in notes:
        console.print(f"note: {note}")
    if settings.set_aside:
        movable = [one for one in faults if one.file.suffix == ".parquet" and not one.unread]
        with closing(FolderLock(folder)):
            for path in dict.fromkeys(one.file for one in movable):
                set_aside(path, "faulty")
        for one in movable:
            console.print(f"set aside: {one}")
        faults = [one for one in faults if one not in movable]
        if movable:
            console.print(f"they are in {folder / ASIDE}; to bring the card up to date: {_describe(folder)}")
    if faults:
        raise _failed(faults, folder, console)
    console.print(_result(verification, time.monotonic() - began))
    if verification.files:
        console.print(clone_next(folder))


def _failed(faults: list[Problem], folder: Path, console: Console) -> BadInput:
    """The error for these problems; several are printed before, a single one is its message."""
    if len(faults) == 1:
        return BadInput(f"{faults[0]}; {_advice(faults[0])}")
    for fault in faults:
        console.print(f"{fault}")
    files = len({fault.file for fault in faults})
    return BadInput(f"{folder}: {len(faults)} problems in {files} files, the first in {faults[0].file}")


def _advice(fault: Problem) -> str:
    if fault.unread:
        return "it may be whole: make it readable, and verify again"
    return "restore it, or: set_aside=true"


def _describe(folder: Path) -> str:
    return dataset_command("describe", folder)


def _result(verification: Verification, seconds: float) -> str:
    stats = [one.stats for one in verification.checked if one.stats is not None]
    steps = sum(one.steps for one in stats)
    replayed = sum(one.replayed for one in verification.checked)
    parts = [f"{len(stats):,} episodes with {steps:,} decisions are whole"]
    if verification.replay:
        parts.append(f"{replayed:,} played again, equal to the bit")
    return f"{verification.folder}: {', '.join(parts)} ({seconds:.1f} s)"


command = Subcommand(
    "dataset-verify",
    VerifySettings,
    run,
    about="Verify a dataset: digests, schema, numbers, counts and, with replay=true, every game by replaying it.",
    examples=[
        ("qwop-dataset verify data/me", ""),
        ("qwop-dataset verify data/me replay=true", "check that every game replays as recorded"),
        ("qwop-dataset verify data/me set_aside=true", "move faulty files aside"),
    ],
)
