"""The recorded games that the page lists, plays back and races against."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from ...common.errors import BadInput
from ...datasets.folder import EPISODE_NAME, EPISODES, set_aside
from ...datasets.parquet import open_episode_file
from ...datasets.reader import open_dataset, read_episode
from ...datasets.schema import DatasetInfo, Episode
from ...datasets.summary import STATS_COLUMNS, stats_of
from ...envs.pictures.video import seconds_from_first_key
from .messages import encode

LISTED = 200
"""Number of games listed of each collection, the newest ones; an older one that is better than these is listed, too."""

LONGEST_FILE_NAME = 255
"""Length that file systems allow."""


@dataclass(frozen=True)
class Entry:
    """One game of the list, identified by its collection and name. figures: total and steps, of a game of QWOP metres
    and seconds."""

    collection: str
    name: str
    player: str
    created: str
    outcome: str
    figures: Mapping[str, float]

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key, greater is better: of QWOP's games the finished ones by their time from the first key, then the
        others by distance; games of other environments by their return."""
        if "metres" not in self.figures:
            return (self.figures["total"],)
        finished = self.outcome == "finished"
        return (finished, -self.figures["seconds"] if finished else 0.0, self.figures["metres"])

    def to_json(self) -> dict[str, object]:
        """The entry as the page expects it."""
        names = ("collection", "name", "player", "created", "outcome")
        return {**{name: getattr(self, name) for name in names}, **self.figures}


class Library:
    """Collections of games: `own` is the dataset being recorded; the others are datasets to race against. Each file is
    read once."""

    def __init__(self, folder: Path, others: Mapping[str, Path] | None = None) -> None:
        self.folder = folder
        self._collections = {"own": folder, **(others or {})}
        self._entries: dict[Path, Entry | None] = {}

    def entries(self) -> list[Entry]:
        """List the newest games of each collection and its best, own ones first, and the newest first in each."""
        entries = []
        for collection, folder in self._collections.items():
            try:
                dataset = open_dataset(folder)
            except (BadInput, OSError):  # no game yet, or the folder is gone
                continue
            read = (self._entry(collection, path, dataset.info) for path in reversed(dataset.files))
            games = [entry for entry in read if entry is not None]
            best = max(games, key=lambda entry: entry.rank, default=None)
            entries += games[:LISTED] if best is None or best in games[:LISTED] else [*games[:LISTED], best]
        return entries

    def to_json(self) -> list[dict[str, object]]:
        """The list as the page expects it."""
        return [entry.to_json() for entry in self.entries()]

    def game(self, collection: str, name: str) -> Episode:
        """Read a game, which has keys; KeyError if there is no such game."""
        folder = self._collections[collection]
        path = self._path(folder, name)
        episode = read_episode(path, open_dataset(folder).info)
        if episode.keys is None:
            raise KeyError(name)
        return episode

    def discard(self, name: str) -> Path:
        """Move an own game to the discarded ones and return its new path; KeyError if there is no such game.

        Nothing recorded is ever deleted.
        """
        return set_aside(self._path(self.folder, name), "discarded")

    def answer_discard(self, name: str) -> str:
        """Discard a game that a page names, and encode the answer; ValueError if there is no such game."""
        try:
            self.discard(name)
        except KeyError:
            raise ValueError("no such game") from None
        except OSError as error:
            return encode(type="not discarded", name=name, reason=(error.strerror or "unknown").lower())
        return encode(type="discarded", name=name)

    def _path(self, folder: Path, name: str) -> Path:
        file = f"{name}.parquet"
        path = folder / EPISODES / file
        if len(file) > LONGEST_FILE_NAME or EPISODE_NAME.fullmatch(file) is None or not path.is_file():
            raise KeyError(name)
        return path

    def _entry(self, collection: str, path: Path, info: DatasetInfo) -> Entry | None:
        """The entry of a file; None for one that cannot be played back, and for a damaged one."""
        if path not in self._entries:
            try:
                self._entries[path] = _read_entry(collection, path, info)
            except BadInput:  # discarded meanwhile, or damaged
                return None
        return self._entries[path]


def _read_entry(collection: str, path: Path, info: DatasetInfo) -> Entry | None:
    """Read the entry of an episode's file from the columns that it takes; None for a game of QWOP without keys."""
    with open_episode_file(path, info) as file:
        table = file.table(STATS_COLUMNS)
        stats = stats_of(file, table)
        figures = {"total": stats.total, "steps": stats.steps}
        if info.environment.capabilities.keys:
            if not stats.keys:
                return None
            keys = pc.list_flatten(table.column("keys")).to_numpy()
            score = math.floor(10 * (stats.metres or 0.0) + 0.5) / 10  # as the game rounds it
            figures |= {"metres": score, "seconds": float(seconds_from_first_key(keys)[-1])}
        return Entry(collection, path.stem, stats.player, file.fields.get("created") or "", stats.outcome, figures)
