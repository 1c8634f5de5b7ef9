"""What a source of games is to the recorder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..datasets.reader import open_dataset
from ..datasets.schema import DatasetInfo, Episode
from ..datasets.writer import next_number


@dataclass(frozen=True)
class Source:
    """Games to be recorded, one after the other, each an episode that fits `info`.

    Whatever can be found wrong with the input is found before there is a Source, so that nothing is written then.
    episodes: each is written before the next is asked for. total: how many there will be, None where nobody knows.
    notes: what a person should know about them, a line each. written: hears where the last episode was put.
    """

    info: DatasetInfo
    episodes: Iterator[Episode]
    total: int | None = None
    notes: list[str] = field(default_factory=list)
    written: Callable[[Path], None] = lambda path: None


def recorded_sources(folder: Path) -> list[str]:
    """Where each episode of a dataset comes from (`Episode.source`); none where the folder has no episode yet."""
    if not folder.is_dir() or next_number(folder) == 0:
        return []
    dataset = open_dataset(folder)
    return [dataset.metadata(index)["source"] for index in range(len(dataset))]
