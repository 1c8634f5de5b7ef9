"""The recorded games that the page lists, shows again and races against."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.reader import open_dataset, read_episode
from ...datasets.schema import DatasetInfo, Episode
from ...datasets.tables import decode_metadata
from ...datasets.writer import EPISODE_NAME
from ...envs.names import EVENT_COLUMNS
from ...envs.pictures.video import seconds_from_first_key
from ...envs.qwop.replay import replay

DISCARDED = "discarded"
"""Where discarded games go, in the dataset's folder: nothing recorded is deleted."""

LISTED = 200
"""The newest games that are listed."""

_SCORE = EVENT_COLUMNS.index("score")


@dataclass(frozen=True)
class Entry:
    """One game of the list. shelf and name find it again; seconds: from the first key to the end."""

    shelf: str
    name: str
    player: str
    created: str
    outcome: str
    metres: float
    seconds: float

    @property
    def rank(self) -> tuple[float, ...]:
        """Greater is better: finished and fast, else far."""
        finished = self.outcome == "finished"
        return (finished, -self.seconds if finished else 0.0, self.metres)


class Library:
    """Shelves of games: `own`, the dataset that is recorded into, and others to race against.

    Only games of QWOP with their keys are on them. Files are read once.
    """

    def __init__(self, folder: Path, others: dict[str, Path]) -> None:
        self.folder = folder
        self._shelves = {"own": folder, **others}
        self._entries: dict[Path, Entry | None] = {}

    def entries(self) -> list[Entry]:
        """All shelves' games, the newest first; own ones before others."""
        found = []
        for shelf, folder in self._shelves.items():
            try:
                dataset = open_dataset(folder)
            except BadInput:  # no game yet
                continue
            newest = (self._entry(shelf, path, dataset.info) for path in reversed(dataset.files[-LISTED:]))
            found += [entry for entry in newest if entry is not None]
        return found

    def to_json(self) -> dict[str, Any]:
        """The list, and the best own game."""
        entries = self.entries()
        own = [entry for entry in entries if entry.shelf == "own"]
        best = max(own, key=lambda entry: entry.rank, default=None)
        return {"games": [asdict(entry) for entry in entries], "best": None if best is None else asdict(best)}

    def keys(self, shelf: str, name: str) -> NDArray[np.uint8]:
        """The keys of a game's frames, uint8 [n]; KeyError where there is no such game."""
        folder = self._shelves[shelf]
        path = self._path(folder, name)
        keys = read_episode(path, open_dataset(folder).info).keys
        if keys is None:
            raise KeyError(name)
        return np.concatenate(keys)

    def discard(self, name: str) -> Path:
        """Put an own game among the discarded ones; where it is then. KeyError where there is no such game."""
        path = self._path(self.folder, name)
        discarded = self.folder / DISCARDED
        discarded.mkdir(exist_ok=True)
        # Numbers can come again, so the name alone might be taken.
        target = discarded / f"{path.stem}-{uuid4().hex[:8]}{path.suffix}"
        os.rename(path, target)
        return target

    def _path(self, folder: Path, name: str) -> Path:
        file = f"{name}.parquet"
        path = folder / file
        if EPISODE_NAME.fullmatch(file) is None or not path.is_file():
            raise KeyError(name)
        return path

    def _entry(self, shelf: str, path: Path, info: DatasetInfo) -> Entry | None:
        if path not in self._entries:
            try:
                self._entries[path] = _read_entry(shelf, path, info)
            except BadInput:  # discarded meanwhile, or torn
                return None
        return self._entries[path]


def _read_entry(shelf: str, path: Path, info: DatasetInfo) -> Entry | None:
    import pyarrow.parquet as pq

    if not info.environment.capabilities.keys:
        return None
    episode: Episode = read_episode(path, info)
    if episode.keys is None:
        return None
    keys = np.concatenate(episode.keys)
    metadata = decode_metadata(pq.read_schema(path).metadata)
    return Entry(
        shelf=shelf,
        name=path.stem,
        player=episode.player,
        created=str(metadata["created"]),
        outcome=episode.outcome,
        metres=float(replay(keys).events[-1, _SCORE]),
        seconds=float(seconds_from_first_key(keys)[-1]),
    )
