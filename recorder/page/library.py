"""The recorded games that the page lists, plays back and races against."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from ...common.errors import BadInput
from ...datasets.checksums import add_removed
from ...datasets.folder import EPISODE_NAME
from ...datasets.from_keys import replay_episode
from ...datasets.reader import open_dataset, read_episode
from ...datasets.schema import DatasetInfo, Episode
from ...envs.names import SCORE
from ...envs.pictures.video import seconds_from_first_key
from .messages import encode

DISCARDED = "discarded"
"""Subfolder of the dataset for discarded games; nothing recorded is ever deleted."""

LISTED = 200
"""Number of games listed of each collection, the newest ones."""

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
    damaged one. Each file is read once.
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

    def entries(self) -> list[Entry]:
        """List the games of all collections, own ones first, and the newest first in each."""
        found = []
        for collection, folder in self._collections.items():
            try:
                dataset = open_dataset(folder)
            except (BadInput, OSError):  # no game yet, or the folder is gone
                continue
            newest = (self._entry(collection, path, dataset.info) for path in reversed(dataset.files[-LISTED:]))
            found += [entry for entry in newest if entry is not None]
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
        """Move an own game to the discarded ones and return its new path; KeyError if there is no such game."""
        path = self._path(self.folder, name)
        discarded = self.folder / DISCARDED
        discarded.mkdir(exist_ok=True)
        # The number may be used again, so the name alone could already be taken.
        target = discarded / f"{path.stem}-{uuid4().hex[:8]}{path.suffix}"
        add_removed(self.folder, path.name)  # first, so that a kill leaves an episode that is not listed
        os.rename(path, target)
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
        if len(file) > LONGEST_NAME or EPISODE_NAME.fullmatch(file) is None or not (folder / file).is_file():
            raise KeyError(name)
        return folder / file

    def _entry(self, collection: str, path: Path, info: DatasetInfo) -> Entry | None:
        if path not in self._entries:
            try:
                self._entries[path] = self._read_entry(collection, path, info)
            except BadInput:  # discarded meanwhile, or damaged
                return None
        return self._entries[path]


def read_qwop_entry(collection: str, path: Path, info: DatasetInfo) -> Entry | None:
    """Read the entry of an episode's file; None if it cannot be replayed from its keys. Finished games rank by their
    time from the first key, then the others by distance."""
    if not info.environment.capabilities.keys:
        return None
    episode = read_episode(path, info)
    if episode.keys is None:
        return None
    metres = float(replay_episode(episode).events[-1, SCORE])
    seconds = float(seconds_from_first_key(episode.keys_of_frames)[-1])
    finished = episode.outcome == "finished"
    rank = (finished, -seconds if finished else 0.0, metres)
    return _entry(collection, path, episode, {"metres": metres, "seconds": seconds}, rank)


def read_environment_entry(collection: str, path: Path, info: DatasetInfo) -> Entry:
    """Read the entry of an episode's file, which ranks by its return; BadInput if it is damaged."""
    episode = read_episode(path, info)
    total = float(episode.rewards.sum(dtype="float64"))
    return _entry(collection, path, episode, {"total": total, "steps": len(episode)}, (total,))


def _entry(collection: str, path: Path, episode: Episode, figures: dict[str, float], rank: tuple[float, ...]) -> Entry:
    return Entry(collection, path.stem, episode.player, episode.created or "", episode.outcome, figures, rank)
