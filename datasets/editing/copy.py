"""`qwop-dataset copy`: the episodes of one dataset or several in a new one, without some of them, or in parts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ...common.command import Command
from ...common.errors import BadInput, quoted
from ...common.progress import plain_console
from ...common.run_folder import clone_next
from ...common.settings import Expected, HomePath, OutFolder, Settings, Several, Whole
from ...common.shared_settings import Seed
from ..describe import describe
from ..folder import episode_number
from ..parquet import identity
from ..reader import Dataset, open_dataset
from ..schema import Episode
from .new_dataset import new_folder, write_dataset


class CopySettings(Settings):
    """The datasets, the episodes to leave out (those that any of the settings matches), and the parts to make."""

    dataset: Annotated[HomePath, Field(examples=["data/me"])]
    """Folder of the dataset."""
    out: Annotated[OutFolder, Field(examples=["data/me-finished"])]
    """Folder of the new dataset, or of its parts."""
    others: Annotated[Several[HomePath], Expected("folders in brackets")] | None = None
    """Folders of datasets to merge with it, in brackets. Of episodes that are in several, the first stays."""
    drop_episodes: Several[Whole] | None = None
    """Numbers of episodes to leave out, as in the files' names, in brackets."""
    drop_outcomes: Several[Literal["finished", "fell", "stopped", "terminated", "truncated"]] | None = None
    """Outcomes to leave out, in brackets, such as [fell,stopped]."""
    drop_players: Several[str] | None = None
    """Players to leave out, in brackets."""
    parts: Mapping[str, Any] = Field(default_factory=dict)
    """Share of the episodes in each of several parts, such as 'parts={train: 0.8, test: 0.2}': each is a dataset in a
    folder of its name. Empty: one dataset."""
    seed: Seed = 0
    """Decides which episodes go to which part."""


def run(settings: CopySettings) -> None:
    """Write the episodes, renumbered."""
    console = plain_console()
    datasets = [open_dataset(folder) for folder in (settings.dataset, *(settings.others or ()))]
    out = Path(settings.out)
    for other in datasets[1:]:
        if differences := datasets[0].info.differences(other.info):
            raise BadInput(
                f"{other.folder}: a dataset with other settings than {datasets[0].folder}: {'; '.join(differences)}; "
                "qwop-dataset relabel makes them equal where the games have keys"
            )
    selection = remaining(datasets, settings)
    parts: dict[str, tuple[Iterable[Episode], int]] = {"": (distinct(selection), sum(map(len, selection)))}
    if settings.parts and len(datasets) > 1:
        raise BadInput("parts: give one dataset; merge several first")
    if settings.parts:
        dealt = deal(len(selection[0]), settings.parts, settings.seed)
        parts = {name: (selection[0].select(indices), len(indices)) for name, indices in dealt.items()}
    count, info = 0, datasets[0].info
    with new_folder(out, [one.folder for one in datasets]) as folder:
        for name, (episodes, total) in parts.items():
            (folder / name).mkdir(exist_ok=True)
            count += write_dataset(folder / name, info, episodes, total, console)
    if count < (total := sum(map(len, datasets))):
        console.print(f"left out: {total - count} of {total} episodes")
    for name in parts:
        console.print(describe(out / name).table(f"{out / name}"))
    console.print(clone_next(out / next(iter(parts))))


def remaining(datasets: Sequence[Dataset], settings: CopySettings) -> list[Dataset]:
    """The episodes that stay of each dataset; BadInput if the settings name one that is not there, or all."""
    names = ("episode", "outcome", "player")
    drop = {name: {*(getattr(settings, f"drop_{name}s") or ())} for name in names}
    if not any(drop.values()):
        return [*datasets]
    if drop["episode"] and len(datasets) > 1:
        raise BadInput("drop_episodes: the numbers of several datasets are not distinct; give one dataset")
    first, selection, here = datasets[0].folder, list[Dataset](), {name: set[Any]() for name in names}
    for dataset in datasets:
        games = [{"episode": episode_number(file), **dataset.metadata(i)} for i, file in enumerate(dataset.files)]
        stay = [i for i, game in enumerate(games) if not any(game[name] in drop[name] for name in names)]
        selection.append(dataset.select(stay))
        for name in names:
            here[name] |= {game[name] for game in games}
    for name in ("episode", "player"):
        if absent := sorted(drop[name] - here[name]):
            raise BadInput(f"drop_{name}s: {first} has no {name} {quoted(absent[0])}")
    if not any(map(len, selection)):
        raise BadInput(f"{first}: no episode is left; leave out fewer")
    return selection


def distinct(datasets: Sequence[Dataset]) -> Iterator[Episode]:
    """The episodes of all datasets; of equal ones in several of them the first alone."""
    seen: set[str] = set()
    for episode in chain.from_iterable(datasets):
        own = identity(episode) if len(datasets) > 1 else ""
        if own not in seen or not own:
            seen.add(own)
            yield episode


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


command = Command(
    "dataset copy",
    CopySettings,
    run,
    about="Write episodes into a new dataset: of several datasets, without some, or dealt to parts.",
    examples=[
        ("qwop-dataset copy data/me data/you out=data/both", "merge"),
        ("qwop-dataset copy data/me out=data/me-finished drop_outcomes=[fell,stopped]", "leave episodes out"),
        ("qwop-dataset copy data/me out=data/me-parts 'parts={train: 0.8, test: 0.2}'", "split by episode"),
    ],
)
