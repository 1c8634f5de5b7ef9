"""`qwop-dataset drop`: a dataset without some of its episodes."""

from dataclasses import dataclass
from pathlib import Path

from ...common.checks import quoted
from ...common.errors import BadInput
from ...common.progress import plain_console
from ...common.settings import Settings, setting
from ..folder import episode_number
from ..reader import Dataset, open_dataset
from ..schema import OUTCOMES
from ..subcommand import Subcommand
from .new_dataset import finish, new_folder, write_dataset


@dataclass(frozen=True)
class DropSettings(Settings):
    """The dataset, and the episodes to leave out: those matched by any of the settings."""

    dataset: str = setting(help="Folder of the dataset.", example="data/me", path=True)
    out: str = setting(help="Folder of the new dataset.", example="data/me-finished", written=True)
    episodes: tuple[int, ...] | None = setting(
        None, "Numbers of episodes, as in the files' names, in brackets.", at_least=0
    )
    outcomes: tuple[str, ...] | None = setting(None, "Outcomes, in brackets, such as [fell,stopped].", choices=OUTCOMES)
    players: tuple[str, ...] | None = setting(None, "Players, in brackets.")
    shorter_than: int = setting(0, "Decisions: episodes with fewer are left out.", at_least=0)


def run(settings: DropSettings) -> None:
    """Write the remaining episodes, renumbered."""
    console = plain_console()
    dataset, out = open_dataset(settings.dataset), Path(settings.out)
    kept = dataset.select(remaining(dataset, settings))
    info = dataset.info.written
    with new_folder(out, [dataset.folder]) as folder:
        write_dataset(folder, info, kept, len(kept), console, [dataset])
    console.print(f"left out: {len(dataset) - len(kept)} of {len(dataset)} episodes")
    finish(out, console)


def remaining(dataset: Dataset, settings: DropSettings) -> list[int]:
    """Indices of the episodes that stay; BadInput if the settings name none, one that is not there, or all."""
    if not (settings.episodes or settings.outcomes or settings.players or settings.shorter_than):
        raise BadInput("nothing to leave out: name episodes=, outcomes=, players= or shorter_than=")
    numbers = [episode_number(path) for path in dataset.files]
    episodes, outcomes, players = ({*(one or ())} for one in (settings.episodes, settings.outcomes, settings.players))
    if absent := sorted(episodes - {*numbers}):
        raise BadInput(f"episodes: {dataset.folder} has no episode {absent[0]}")
    lengths = dataset.lengths()
    every = [dataset.metadata(index) for index in range(len(dataset))]
    if absent := sorted(players - {metadata["player"] for metadata in every}):
        raise BadInput(f"players: {dataset.folder} has no player {quoted(absent[0])}")
    kept = []
    for index, (number, metadata) in enumerate(zip(numbers, every, strict=True)):
        named = number in episodes or metadata["outcome"] in outcomes or metadata["player"] in players
        if not named and lengths[index] >= settings.shorter_than:
            kept.append(index)
    if not kept:
        raise BadInput(f"{dataset.folder}: no episode is left; leave out fewer")
    return kept


command = Subcommand(
    "dataset-drop",
    DropSettings,
    run,
    about="Write a new dataset without some of the episodes.",
    examples=[
        ("qwop-dataset drop data/me out=data/me-finished outcomes=[fell,stopped]", ""),
        ("qwop-dataset drop data/me out=data/me-better episodes=[3,17]", ""),
    ],
)
