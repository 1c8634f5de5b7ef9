"""`qwop-dataset describe`: a dataset's card, and a description that was lost."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..common.command import Command
from ..common.command_line import next_command
from ..common.files import write_atomic
from ..common.folder_lock import FolderLock
from ..common.progress import plain_console
from ..common.settings import HomePath, Settings
from .card import write_card
from .folder import DESCRIPTION, episode_files, to_text
from .parquet import description_in
from .reader import open_dataset
from .summary import Summary


class DescribeSettings(Settings):
    """The dataset to describe."""

    dataset: Annotated[HomePath, Field(examples=["data/me"])]
    """Folder of the dataset."""


def run(settings: DescribeSettings) -> None:
    """Write the card and print the statistics."""
    folder = Path(settings.dataset)
    with closing(FolderLock(folder)):  # so that no recorder that starts removes unfinished files as leftovers
        files = episode_files(folder)
        if files and not (folder / DESCRIPTION).exists():
            write_atomic(folder / DESCRIPTION, to_text(description_in(next(iter(files.values()))).to_json()))
        summary = describe(folder)
    console = plain_console()
    console.print(summary.table(settings.dataset))
    console.print(next_command("qwop-dataset verify", dataset=settings.dataset))


def describe(folder: Path, named: Mapping[str, str] | None = None) -> Summary:
    """Update the card to the episodes; return the statistics. named: further entries of its front matter."""
    summary = open_dataset(folder).summary()
    write_card(folder, summary, named)
    return summary


command = Command(
    "dataset describe",
    DescribeSettings,
    run,
    about="Write a dataset's card, README.md, anew from its episodes, and a lost dataset.json.",
    examples=[("qwop-dataset describe data/me", "")],
)
