"""The recorded games that the page lists, plays back and races against."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from ...common.errors import BadInput
from ...datasets.folder import EPISODE_NAME, EPISODES, set_aside
from ...datasets.from_keys import replay_episode
from ...datasets.parquet import open_episode_file
from ...datasets.reader import open_dataset, read_episode
from ...datasets.schema import DatasetInfo, Episode
from ...datasets.summary import STATS_COLUMNS, stats_of
from ...envs.names import SCORE
from ...envs.pictures.video import seconds_from_first_key
from .messages import encode

LISTED = 200
"""Number of games listed of each collection, the newest ones; an older one that is better than these is listed, too."""

LONGEST_NAME = 255
"""Length that file systems allow."""


@dataclass(frozen=True)
class Entry:
    """One game of the list, identified by its collection and name. figures: those of its result, by the names that the
    page has for them. rank: sort key, greater is better.
    """

    collection: str
    name: str
    player: str
    created: str
    outcome: str
    figures: dict[str, float]
    rank: tuple[float, ...]

    def to_json(self) -> dict[str, object]:
        """The entry as the page expects it."""
        shown = ("collection", "name", "player", "created", "outcome")
        return {**{name: getattr(self, name) for name in shown}, **self.figures}


class Library:
    """Collections of games: `own` is the dataset being recorded; the others are datasets to race against.

    read_entry(collection, path, info): the entry of an episode's file, None for one that is not listed; BadInput for a
    damaged one. Each file is read once; of those that are not listed, only what ranks them.
    """

    def __init__(
        self,
        folder: Path,
        others: dict[str, Path],
        read_entry: Callable[[str, Path, DatasetInfo], Entry | None] | None = None,
    ) -> None:
        self.folder = folder
        self._read_entry = read_entry or read_qwop_entry
        self._collections = {"own": folder, **others}
        self._entries: dict[Path, Entry | None] = {}
        self._ranks: dict[Path, tuple[float, ...]] = {}

    def entries(self) -> list[Entry]:
        """List the newest games of each collection and its best, own ones first, and the newest first in each."""
        found = []
        for collection, folder in self._collections.items():
            try:
                dataset = open_dataset(folder)
            except (BadInput, OSError):  # no game yet, or the folder is gone
                continue
            read = (self._entry(collection, path, dataset.info) for path in reversed(dataset.files[-LISTED:]))
            newest = [entry for entry in read if entry is not None]
            older = self._best(collection, dataset.files[:-LISTED], dataset.info)
            found += newest
            if older is not None and older.rank > max((entry.rank for entry in newest), default=()):
                found.append(older)
        return found

    def to_json(self) -> dict[str, object]:
        """The list and the best own game, as the page expects them."""
        entries = self.entries()
        own = [entry for entry in entries if entry.collection == "own"]
        best = max(own, key=lambda entry: entry.rank, default=None)
        return {"games": [entry.to_json() for entry in entries], "best": best and best.to_json()}

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
        path = self._path(self.folder, name)
        target = set_aside(path, "discarded")
        self._entries.pop(path, None)  # another recorder may use the number again
        self._ranks.pop(path, None)
        return target

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
        if len(file) > LONGEST_NAME or EPISODE_NAME.fullmatch(file) is None or not path.is_file():
            raise KeyError(name)
        return path

    def _best(self, collection: str, paths: Sequence[Path], info: DatasetInfo) -> Entry | None:
        """The best of these games, of which no other is read completely."""
        for path in paths:
            if path not in self._ranks:
                with suppress(BadInput):  # discarded meanwhile, or damaged
                    self._ranks[path] = _rank(path, info)
        ranked = sorted((path for path in paths if path in self._ranks), key=self._ranks.__getitem__, reverse=True)
        read = (self._entry(collection, path, info) for path in ranked)
        return next((entry for entry in read if entry is not None), None)

    def _entry(self, collection: str, path: Path, info: DatasetInfo) -> Entry | None:
        if path not in self._entries:
            try:
                self._entries[path] = self._read_entry(collection, path, info)
            except BadInput:  # discarded meanwhile, or damaged
                return None
        return self._entries[path]


def read_qwop_entry(collection: str, path: Path, info: DatasetInfo) -> Entry | None:
    """Read the entry of an episode's file; None if it cannot be replayed from its keys."""
    if not info.environment.capabilities.keys:
        return None
    episode = read_episode(path, info)
    if episode.keys is None:
        return None
    metres = float(replay_episode(episode).events[-1, SCORE])
    seconds = float(seconds_from_first_key(episode.keys_of_frames)[-1])
    rank = _rank_of_run(episode.outcome, seconds, metres)
    return _entry(collection, path, episode, {"metres": metres, "seconds": seconds}, rank)


def read_environment_entry(collection: str, path: Path, info: DatasetInfo) -> Entry:
    """Read the entry of an episode's file, which ranks by its return; BadInput if it is damaged."""
    episode = read_episode(path, info)
    total = float(episode.rewards.sum(dtype="float64"))
    return _entry(collection, path, episode, {"total": total, "steps": len(episode)}, (total,))


def _rank(path: Path, info: DatasetInfo) -> tuple[float, ...]:
    """The rank of an episode's entry, from the columns that it takes; BadInput if the file is damaged."""
    with open_episode_file(path, info) as file:
        table = file.table(STATS_COLUMNS)
        stats = stats_of(file, table)
        if not info.environment.capabilities.runs:
            return (stats.total,)
        seconds = float(seconds_from_first_key(pc.list_flatten(table.column("keys")).to_numpy())[-1])
        return _rank_of_run(stats.outcome, seconds, stats.metres or 0.0)


def _rank_of_run(outcome: str, seconds: float, metres: float) -> tuple[float, ...]:
    """Finished games rank by their time from the first key, then the others by distance."""
    return (1.0, -seconds, metres) if outcome == "finished" else (0.0, 0.0, metres)


def _entry(collection: str, path: Path, episode: Episode, figures: dict[str, float], rank: tuple[float, ...]) -> Entry:
    return Entry(collection, path.stem, episode.player, episode.created or "", episode.outcome, figures, rank)
