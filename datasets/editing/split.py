"""`qwop-dataset split`: a dataset in several parts, episode by episode."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...common.command_line import clone_next
from ...common.errors import BadInput
from ...common.progress import plain_console
from ...common.settings import Settings, setting
from ...common.shared_settings import seed
from ..describe import describe
from ..reader import open_dataset
from ..subcommand import Subcommand
from .new_dataset import new_folder, write_dataset

USUAL = {"train": 0.8, "test": 0.2}
"""The parts where none are named. They are no default of the setting, which Hydra would merge with the parts given."""


@dataclass(frozen=True)
class SplitSettings(Settings):
    """The dataset to split."""

    dataset: str = setting(help="Folder of the dataset.", example="data/me", path=True)
    out: str = setting(
        help="Folder of the parts, each a dataset in a folder of its name.", example="data/me-parts", written=True
    )
    parts: Mapping[str, Any] = setting(
        {},
        "Share of the episodes in each part, such as 'parts={train: 0.7, test: 0.3}'. Empty: {train: 0.8, test: 0.2}.",
    )
    seed: int = seed("Decides which episodes go where.")


def run(settings: SplitSettings) -> None:
    """Deal the episodes to the parts at random; every episode is in one of them."""
    console = plain_console()
    dataset, out = open_dataset(settings.dataset), Path(settings.out)
    dealt = deal(len(dataset), settings.parts or USUAL, settings.seed)
    info = dataset.info.written
    with new_folder(out, [dataset.folder]) as folder:
        for name, indices in dealt.items():
            (folder / name).mkdir()
            write_dataset(folder / name, info, dataset.select(indices), len(indices), console, [dataset])
    for name in dealt:
        console.print(describe(out / name).table(f"{out / name}"))
    console.print(clone_next(out / next(iter(dealt))))


def deal(count: int, parts: Mapping[str, Any], seed: int) -> dict[str, list[int]]:
    """Indices of the episodes of each part, in order. BadInput for shares that do not sum to 1, or an empty part."""
    for name, share in parts.items():
        if not name.replace("-", "").replace("_", "").isalnum():
            raise BadInput(f"parts={name}: expected names of letters, digits, - and _")
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise BadInput(f"parts.{name}={share}: expected a share above 0 and at most 1")
    if abs(sum(parts.values()) - 1) > 1e-9:
        raise BadInput(f"parts: the shares sum to {sum(parts.values()):g}, expected 1")
    ends = np.round(np.cumsum(list(parts.values())) * count).astype(int)
    order = np.random.default_rng(seed).permutation(count)
    dealt = {name: sorted(part.tolist()) for name, part in zip(parts, np.split(order, ends[:-1]), strict=True)}
    if empty := [name for name, indices in dealt.items() if not indices]:
        raise BadInput(f"parts.{empty[0]}={parts[empty[0]]:g}: no episode of {count} is left for it")
    return dealt


command = Subcommand(
    "dataset-split",
    SplitSettings,
    run,
    about="Split a dataset by episode into new ones.",
    examples=[("qwop-dataset split data/me out=data/me-parts 'parts={train: 0.8, test: 0.2}'", "")],
)
