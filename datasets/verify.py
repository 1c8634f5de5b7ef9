"""`qwop-dataset verify`: check everything about a dataset."""

import time
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..common.command_line import clone_next
from ..common.cores import cores
from ..common.errors import BadInput
from ..common.progress import plain_console, progress_bar
from ..common.settings import HomePath, Settings
from .subcommand import Subcommand
from .verification import Verification


class VerifySettings(Settings):
    """The dataset to verify."""

    dataset: Annotated[HomePath, Field(examples=["data/me"])]
    """Folder of the dataset."""
    replay: bool = False
    """Also replay every game from its keys, and compare observations, rewards and ending to the bit."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Files checked at a time. null: one for each core."""


def run(settings: VerifySettings) -> None:
    """Check the files and print a line for every problem; BadInput unless all are harmless."""
    console = plain_console()
    began = time.monotonic()
    verification = Verification(Path(settings.dataset), replay=settings.replay, threads=settings.threads or cores())
    with progress_bar("episodes", console) as progress:
        task = progress.add_task("verifying", total=len(verification.files))
        for _ in verification.episodes():
            progress.advance(task)
    found = [problem for one in verification.checked for problem in one.problems] + list(verification.of_folder())
    for note in [one for one in found if one.harmless]:
        console.print(f"note: {note}")
    faults = [one for one in found if not one.harmless]
    if len(faults) == 1:
        raise BadInput(f"{faults[0]}; {faults[0].advice}")
    if faults:
        for fault in faults:
            console.print(f"{fault}")
        files = len({fault.file for fault in faults})
        raise BadInput(f"{settings.dataset}: {len(faults)} problems in {files} files, the first in {faults[0].file}")
    console.print(_result(verification, time.monotonic() - began))
    if verification.files:
        console.print(clone_next(verification.folder))


def _result(verification: Verification, seconds: float) -> str:
    stats = [one.stats for one in verification.checked if one.stats is not None]
    steps = sum(one.steps for one in stats)
    parts = [f"{len(stats):,} episodes with {steps:,} decisions are whole"]
    if verification.replay:
        replayed = sum(one.replayed for one in verification.checked)
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
    ],
)
