"""The recorded games that the page lists, plays back and races against."""

import math
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ...common.errors import BadInput
from ...datasets.folder import EPISODE_NAME, EPISODES, set_aside
from ...datasets.parquet import episode_table, fields_in, read_episode
from ...datasets.reader import open_dataset
from ...datasets.schema import DatasetInfo
from ...datasets.summary import STATS_COLUMNS, stats_of
from ...envs.pictures.video import seconds_from_first_key


class Library:
    """Collections of games: `own` is the dataset being recorded; the others are datasets to race against. Each file is
    read once."""

    def __init__(self, folder: Path, others: Mapping[str, Path] | None = None) -> None:
        self.folder = folder
        self._collections = {"own": folder, **(others or {})}
        self._entries: dict[Path, dict[str, Any] | None] = {}

    def entries(self) -> list[dict[str, Any]]:
        """All games as the page expects them: own ones first, and the newest first in each collection.

        An entry has collection, name, player, created, outcome, metres and seconds.
        """
        entries = []
        for collection, folder in self._collections.items():
            try:
                dataset = open_dataset(folder)
            except (BadInput, OSError):  # no game yet, or the folder is gone
                continue
            for path in dataset.files:
                with suppress(BadInput):  # discarded meanwhile, or damaged
                    if path not in self._entries:
                        self._entries[path] = _read_entry(collection, path, dataset.info)
            entries += [entry for path in reversed(dataset.files) if (entry := self._entries.get(path)) is not None]
        return entries

    def keys(self, collection: str, name: str) -> list[int]:
        """The keys of each frame of a game; KeyError if there is no such game."""
        folder = self._collections[collection]
        return read_episode(_path_of(folder, name), open_dataset(folder).info).keys_of_frames.tolist()  # type: ignore[no-any-return]

    def discard(self, name: str) -> dict[str, str]:
        """Move an own game to the discarded ones; the answer to the page. ValueError if there is no such game.

        Nothing recorded is ever deleted.
        """
        try:
            set_aside(_path_of(self.folder, name), "discarded")
        except KeyError:
            raise ValueError("no such game") from None
        except OSError as error:
            return {"type": "not discarded", "name": name, "reason": (error.strerror or "unknown").lower()}
        return {"type": "discarded", "name": name}


def _path_of(folder: Path, name: str) -> Path:
    file = f"{name}.parquet"
    path = folder / EPISODES / file
    if EPISODE_NAME.fullmatch(file) is None or not path.is_file():
        raise KeyError(name)
    return path


def _read_entry(collection: str, path: Path, info: DatasetInfo) -> dict[str, Any] | None:
    """Read the entry of an episode's file from the columns that it takes; None for a game that its keys alone, from
    the page's own start, do not give."""
    with episode_table(path, info, STATS_COLUMNS) as table:
        stats, fields = stats_of(table, info), fields_in(table)
        if not stats["keys"] or fields.get("start"):
            return None
        return {
            "collection": collection, "name": path.stem, "created": fields.get("created") or "",
            "player": stats["player"], "outcome": stats["outcome"],
            "metres": math.floor(10 * float(np.nan_to_num(stats["metres"])) + 0.5) / 10,  # as the game rounds it
            "seconds": float(seconds_from_first_key(pc.list_flatten(table.column("keys")).to_numpy())[-1]),
        }  # fmt: skip
