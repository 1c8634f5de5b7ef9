"""`qwop-dataset merge`: several datasets as one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...common.errors import BadInput
from ...common.progress import plain_console
from ...common.settings import Settings, setting
from ..arrow import identity
from ..folder import next_number
from ..reader import Dataset, open_dataset
from ..schema import Episode
from ..subcommand import Subcommand
from .new_dataset import finish, new_folder, write_dataset


@dataclass(frozen=True)
class MergeSettings(Settings):
    """The datasets to merge."""

    dataset: str = setting(help="Folder of the first dataset.", example="data/me", path=True)
    others: tuple[str, ...] = setting(
        help="Folders of the others, in brackets.", expected="folders in brackets", example="[data/you]", path=True
    )
    out: str = setting(help="Folder of the new dataset.", example="data/both", written=True)
    duplicates: str = setting(
        "refuse",
        "Episodes that are in several of the datasets: refuse, or skip all but the first.",
        choices=["refuse", "skip"],
    )


def run(settings: MergeSettings) -> None:
    """Write the episodes of all datasets, one after the other; BadInput if their settings differ."""
    console = plain_console()
    datasets = [open_dataset(folder) for folder in (settings.dataset, *settings.others)]
    first = datasets[0]
    for other in datasets[1:]:
        if differences := first.info.differences(other.info):
            raise BadInput(
                f"{other.folder}: a dataset with other settings than {first.folder}: {'; '.join(differences)}; "
                "qwop-dataset relabel makes them equal where the games have keys"
            )
    newest = max(datasets, key=lambda dataset: dataset.info.version).info
    info, out = replace(first.info, version=newest.written.version), Path(settings.out)
    total = sum(map(len, datasets))
    with new_folder(out, [one.folder for one in datasets]) as folder:
        write_dataset(folder, info, distinct(datasets, skip=settings.duplicates == "skip"), total, console, datasets)
        skipped = total - next_number(folder)
    if skipped:
        console.print(f"left out: {skipped} episodes that are in several of the datasets")
    finish(out, console)


def distinct(datasets: Sequence[Dataset], *, skip: bool) -> Iterator[Episode]:
    """The episodes of all datasets; of equal ones the first alone if `skip`, else BadInput."""
    found: dict[str, Path] = {}
    for dataset in datasets:
        for path, episode in zip(dataset.files, dataset, strict=True):
            own = identity(episode)
            if own not in found:
                found[own] = path
                yield episode
            elif not skip:
                raise BadInput(f"{path}: the same episode as {found[own]}; leave it out with: duplicates=skip")


command = Subcommand(
    "dataset-merge",
    MergeSettings,
    run,
    about="Merge datasets of the same settings into a new one.",
    examples=[("qwop-dataset merge data/me data/you out=data/both", "")],
)
