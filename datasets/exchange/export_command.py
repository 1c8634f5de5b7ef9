"""`qwop-dataset export`: write a dataset in another tool's format."""

from dataclasses import dataclass
from pathlib import Path

from ...common.command_line import clone_next
from ...common.errors import BadInput
from ...common.files import atomic_file
from ...common.folder_lock import shared_lock
from ...common.progress import plain_console
from ...common.settings import Settings, setting
from ..editing.new_dataset import new_folder, require_outside
from ..reader import Dataset, open_dataset
from ..schema import DatasetInfo
from ..subcommand import Subcommand
from . import d3rlpy, expert_file, huggingface, minari, table_files

FOLDERS = {"minari": minari.export, "huggingface": huggingface.export, "parquet": table_files.export}
"""Formats that are folders."""

FILES = {"d3rlpy": (".h5", d3rlpy.export), "baselines": (".npz", expert_file.export)}
"""Formats that are files, with the ending of their names."""

LOST = {"parquet": table_files.LOST, "d3rlpy": d3rlpy.LOST, "baselines": expert_file.LOST}

LOST_OF_SHARED_CONTROL = (
    "the policy's probabilities where a person acted",
    "the places where branches left other episodes (they repeat the decisions that both share)",
)


@dataclass(frozen=True)
class ExportSettings(Settings):
    """The dataset, and the format to write it in."""

    dataset: str = setting(help="Folder of the dataset.", example="data/me", path=True)
    to: str = setting(
        help="Format: parquet, minari or huggingface (folders), d3rlpy (.h5), or baselines, the expert files (.npz) of "
        "stable-baselines.",
        choices=[*FOLDERS, *FILES],
        example="minari",
    )
    out: str = setting(help="New folder or file.", example="minari/me-v0", path=True)


def run(settings: ExportSettings) -> None:
    """Write the dataset, and print what the format cannot hold."""
    console = plain_console()
    dataset, out = open_dataset(settings.dataset), Path(settings.out)
    info = dataset.info.written
    if settings.to in FOLDERS:
        with new_folder(out, [dataset.folder]) as folder:
            FOLDERS[settings.to](dataset, info, out.resolve().name, folder)
    else:
        _write_file(dataset, info, settings.to, out)
    console.print(f"{out}: {len(dataset)} episodes for {settings.to}")
    lost = LOST.get(settings.to, ())
    if dataset.info.shares_control and settings.to in LOST:
        lost = (*lost, *LOST_OF_SHARED_CONTROL)
    for one in lost:
        console.print(f"not held by this format: {one}")
    console.print(clone_next(dataset.folder))


def _write_file(dataset: Dataset, info: DatasetInfo, format: str, out: Path) -> None:
    suffix, export = FILES[format]
    if out.suffix != suffix:
        raise BadInput(f"out={out}: expected the name of a file that ends in {suffix}")
    if out.exists():
        raise BadInput(f"out={out}: is there already; give out= a new name")
    require_outside(out, [dataset.folder])
    with shared_lock(out.parent, "out", beside=True), atomic_file(out) as partial:
        export(dataset, info, partial)


command = Subcommand(
    "dataset-export",
    ExportSettings,
    run,
    about="Write a dataset in another tool's format. Prints what that format cannot hold.",
    examples=[
        (
            "qwop-dataset export data/me to=parquet out=tables/me",
            "for pd.read_parquet and pl.read_parquet of the folder",
        ),
        ("qwop-dataset export data/me to=minari out=minari/me-v0", ""),
        ("qwop-dataset export data/me to=huggingface out=data/me-hub", "for datasets.load_dataset and the hub"),
        ("qwop-dataset export data/me to=d3rlpy out=data/me.h5", ""),
        ("qwop-dataset export data/me to=baselines out=data/me.npz", ""),
    ],
)
