"""`qwop-dataset describe`: update a dataset's checksums, card and Croissant metadata."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ..common.command_line import next_command
from ..common.folder_lock import FolderLock
from ..common.progress import plain_console
from ..common.settings import Settings, setting
from .describe import describe
from .subcommand import Subcommand


@dataclass(frozen=True)
class DescribeSettings(Settings):
    """The dataset to describe."""

    dataset: str = setting(help="Folder of the dataset.", example="data/me", path=True)
    accept: bool = setting(
        False,
        "Accept the current episodes: rewrite the checksums even if files are missing or changed, and a lost"
        " dataset.json. Each still has to be a valid episode.",
    )


def run(settings: DescribeSettings) -> None:
    """Write the derived files and print the statistics."""
    folder = Path(settings.dataset)
    with closing(FolderLock(folder)):  # so that no recorder that starts removes unfinished files as leftovers
        summary = describe(folder, accept=settings.accept)
    console = plain_console()
    console.print(summary.table(settings.dataset))
    console.print(next_command("qwop-dataset verify", dataset=settings.dataset))


command = Subcommand(
    "dataset-describe",
    DescribeSettings,
    run,
    about="Write what is derived from a dataset's episodes: SHA256SUMS, README.md and croissant.json.",
    examples=[("qwop-dataset describe data/me", "")],
)
