"""`qwop-dataset verify`: check everything about a dataset."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ...common.command_line import clone_next
from ...common.cores import cores
from ...common.errors import BadInput
from ...common.progress import plain_console, progress_bar
from ...common.settings import Settings, setting
from ..folder import EPISODE_NAME, SET_ASIDE, dataset_command
from ..subcommand import Subcommand
from .files import Verification
from .problem import Problem
from .set_aside import set_aside


@dataclass(frozen=True)
class VerifySettings(Settings):
    """The dataset to verify."""

    dataset: str = setting(help="Folder of the dataset.", example="data/me", path=True)
    replay: bool = setting(
        False, "Also replay every game from its keys, and compare observations, rewards and ending to the bit."
    )
    set_aside: bool = setting(
        False,
        "Move faulty episodes, and Parquet files that are no episodes, into the dataset's folder "
        f"{SET_ASIDE}, with the reasons. Nothing is deleted.",
    )
    threads: int | None = setting(None, "Files checked at a time. null: one for each core.", at_least=1, at_most=1024)


def run(settings: VerifySettings) -> None:
    """Check the files and print a line for every problem; BadInput unless all are harmless."""
    console = plain_console()
    folder = Path(settings.dataset)
    began = time.monotonic()
    verification = Verification(folder, replay=settings.replay, threads=settings.threads or cores())
    with progress_bar("episodes", console) as progress:
        task = progress.add_task("verifying", total=len(verification.names))
        for _ in verification.episodes():
            progress.advance(task)
    found = [problem for one in verification.checked for problem in one.problems] + list(verification.of_folder())
    faults, notes = [one for one in found if not one.harmless], [one for one in found if one.harmless]
    for note in notes:
        console.print(f"note: {note}")
    if settings.set_aside:
        movable = [one for one in faults if one.file.suffix == ".parquet" and not one.unread]
        moved = set_aside(folder, movable)
        for one in movable:
            console.print(f"set aside: {one}")
        faults = [one for one in faults if one not in movable]
        if moved:
            console.print(
                f"{len(moved)} files are in {folder / SET_ASIDE} now; the derived files are brought up to date by: "
                + dataset_command("describe", folder)
            )
    if faults:
        raise _failed(faults, folder, console)
    console.print(_result(verification, time.monotonic() - began))
    if verification.names:
        console.print(clone_next(folder))


def _failed(faults: list[Problem], folder: Path, console: Console) -> BadInput:
    """The error for these problems; several are printed before, a single one is its message."""
    if len(faults) == 1:
        return BadInput(f"{faults[0]}; {_advice(faults[0], folder)}")
    for fault in faults:
        console.print(f"{fault}")
    files = len({fault.file for fault in faults})
    return BadInput(f"{folder}: {len(faults)} problems in {files} files, the first in {faults[0].file}")


def _advice(fault: Problem, folder: Path) -> str:
    if fault.unread:
        return "it may be whole: make it readable, and verify again"
    if fault.file.suffix == ".parquet" and (os.path.lexists(fault.file) or not EPISODE_NAME.fullmatch(fault.file.name)):
        return "restore it, or: set_aside=true"
    return f"restore it, or accept the dataset as it is: {dataset_command('describe', folder, 'accept=true')}"


def _result(verification: Verification, seconds: float) -> str:
    facts = [one.facts for one in verification.checked if one.facts is not None]
    steps = sum(one.steps for one in facts)
    replayed = sum(one.replayed for one in verification.checked)
    listed = sum(name in verification.checksums for name in verification.names)
    parts = [f"{len(facts):,} episodes with {steps:,} decisions are whole", f"{listed:,} with their listed checksum"]
    if verification.replay:
        parts.append(f"{replayed:,} played again, equal to the bit")
    return f"{verification.folder}: {', '.join(parts)} ({seconds:.1f} s)"


command = Subcommand(
    "dataset-verify",
    VerifySettings,
    run,
    about="Verify a dataset: schema, numbers, counts, checksums and, with replay=true, every game by replaying it.",
    examples=[
        ("qwop-dataset verify data/me", ""),
        ("qwop-dataset verify data/me replay=true", "check that every game replays as recorded"),
        ("qwop-dataset verify data/me set_aside=true", "move faulty files aside"),
    ],
)
