"""`qwop-dataset export`: write a dataset in another tool's format, or make it ready for the hub of Hugging Face."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from rich.console import Console

from ...common.command import Command
from ...common.errors import BadInput, naming
from ...common.files import atomic_file
from ...common.progress import plain_console
from ...common.run_folder import clone_next
from ...common.settings import HomePath, Settings
from ..describe import describe
from ..editing.new_dataset import new_folder, require_outside
from ..folder import ASIDE
from ..reader import Dataset, open_dataset
from . import d3rlpy, minari


class ExportSettings(Settings):
    """The dataset, and the format to write it in."""

    dataset: Annotated[HomePath, Field(examples=["data/me"])]
    """Folder of the dataset."""
    to: Annotated[Literal["minari", "d3rlpy", "huggingface"], Field(examples=["minari"])]
    """Format: minari (a folder), d3rlpy (a file, .h5), or huggingface, which reads a dataset as it is: its card is
    completed."""
    out: Annotated[HomePath, Field(examples=["minari/me-v0"])]
    """New folder or file; of huggingface the repository, as in me/runs."""
    licence: str | None = None
    """huggingface: licence under which it is published, such as cc-by-4.0."""


def run(settings: ExportSettings) -> None:
    """Write the dataset, and print what the format cannot hold."""
    console = plain_console()
    dataset = open_dataset(settings.dataset)
    if settings.to == "huggingface":
        _prepare(dataset, settings.out, settings, console)
        return
    out = Path(settings.out)
    if settings.to == "minari":
        with new_folder(out, [dataset.folder]) as folder, naming(out):
            minari.export(dataset, out.resolve().name, folder)
    else:
        if out.suffix != ".h5":
            raise BadInput(f"out={out}: expected the name of a file that ends in .h5")
        if out.exists():
            raise BadInput(f"out={out}: is there already; give out= a new name")
        require_outside(out, [dataset.folder])
        converted = d3rlpy.to_d3rlpy(dataset, dataset.info)
        with atomic_file(out) as partial, partial.open("x+b") as file:  # HDF5 reads what it wrote
            converted.dump(file)
    console.print(f"not held by this format: {minari.LOST if settings.to == 'minari' else d3rlpy.LOST}")
    console.print(f"{out}: {len(dataset)} episodes for {settings.to}")
    console.print(clone_next(dataset.folder))


def _prepare(dataset: Dataset, repository: str, settings: ExportSettings, console: Console) -> None:
    """Complete the card, and print the line that uploads the folder."""
    user, _, name = repository.partition("/")
    if not user or not name or "/" in name:
        raise BadInput(f"out={repository}: expected a user's or organisation's repository, such as me/runs")
    if not settings.licence or not settings.licence.replace("-", "").replace(".", "").isalnum():
        raise BadInput("licence is not set: expected one that the hub knows, such as cc-by-4.0 or mit")
    title = name.replace("-", " ").replace("_", " ").capitalize()
    describe(dataset.folder, {"license": f" {settings.licence.lower()}", "pretty_name": f" {json.dumps(title)}"})
    console.print(f"{dataset.folder}: the card is complete; upload the folder with:")
    line = ["hf", "upload", repository, str(dataset.folder), ".", "--repo-type", "dataset", "--exclude", f"{ASIDE}/*"]
    console.print(shlex.join(line), soft_wrap=True)


command = Command(
    "dataset export",
    ExportSettings,
    run,
    about="Write a dataset for Minari or d3rlpy, or make it ready for Hugging Face. pandas, polars and load_dataset "
    "read it as it is.",
    examples=[
        ("qwop-dataset export data/me to=minari out=minari/me-v0", ""),
        ("qwop-dataset export data/me to=d3rlpy out=data/me.h5", ""),
        ("qwop-dataset export data/me to=huggingface out=me/runs licence=cc-by-4.0", "prints the line that uploads it"),
    ],
)
