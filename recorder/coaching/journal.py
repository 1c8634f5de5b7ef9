"""Journals of games under way: what a person did, so that a killed recorder's games are recorded by the next one.

A game follows from its number, the policy, the settings and the person's keys. A journal is a line of JSON with these,
then one for the keys of some frames, for going back and for handing over. It is removed once its game is recorded.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from ...common.checks import quoted
from ...common.errors import BadInput
from ...common.folder_lock import FolderLock, claimed
from ...common.reading import MEGABYTE, read_bytes
from ...datasets.folder import ASIDE
from ...datasets.schema import Episode
from .game import CoachedGame

UNDER_WAY = "under-way-"
"""Beginning of the names of folders with journals, one for each recorder."""

BACK, HAND_OVER = "back", "hand over"

LARGEST = 64 * MEGABYTE


class Journal:
    """The journal of one game.

    path: None for a game of which nothing is noted. about: what the game follows from, besides the person.
    """

    def __init__(self, path: Path | None, about: dict[str, Any]) -> None:
        self._path = path
        self._file: IO[str] | None = None if path is None else path.open("x", encoding="utf-8")
        self._add(about)

    def keys(self, held: Sequence[int]) -> None:
        """Note the keys of some frames."""
        self._add(list(held))

    def back(self, seconds: float, game: int, held: int) -> None:
        """Note that the person went back while these keys were held; game: the number of the line that begins there."""
        self._add({BACK: seconds, "game": game, "held": held})

    def hand_over(self, held: int) -> None:
        """Note that control was handed over while these keys were held."""
        self._add({HAND_OVER: held})

    def close(self) -> None:
        """Remove the journal: its game is recorded."""
        if self._file is not None and self._path is not None:
            self._file.close()
            self._file = None
            self._path.unlink(missing_ok=True)

    def _add(self, entry: Any) -> None:
        if self._file is not None:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()  # to the system, which outlives this process


class Journals:
    """The journals of this recorder, in a folder of its own within the dataset's.

    repeats: false if the same seed and keys give other games, which no journal tells.
    """

    def __init__(self, dataset: Path, repeats: bool = True) -> None:
        self._repeats = repeats
        self._folder = dataset / ASIDE / f"{UNDER_WAY}{uuid4().hex[:8]}"
        self._lock: FolderLock | None = None

    def begin(self, number: int, about: dict[str, Any]) -> Journal:
        """The journal of a new game with this number."""
        if not self._repeats:
            return Journal(None, {})
        if self._lock is None:
            self._folder.mkdir(parents=True)
            self._lock = FolderLock(self._folder)
        return Journal(self._folder / f"game-{number:06d}.jsonl", {**about, "game": number})

    def remove(self) -> None:
        """Remove the folder: all games are recorded."""
        if self._lock is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._lock.close()


class Interrupted:
    """Games of killed recorders in a dataset's folder that follow from the same things as this recorder's."""

    def __init__(self, dataset: Path, about: dict[str, Any]) -> None:
        self._about = about
        self._found: list[tuple[Path, int, list[Any]]] = []
        for folder in sorted(dataset.glob(f"{ASIDE}/{UNDER_WAY}*")):
            with claimed(folder) as mine:
                if mine:
                    self._found += [one for path in sorted(folder.glob("*.jsonl")) if (one := self._read(path))]

    @property
    def last_number(self) -> int:
        """The highest number of these games; -1 without any."""
        return max((max([number, *_branches(entries)]) for _, number, entries in self._found), default=-1)

    def __len__(self) -> int:
        return len(self._found)

    def episodes(
        self, game: Callable[[int, Sequence[int]], CoachedGame], recorded: set[int | None]
    ) -> Iterator[Episode]:
        """Play them again, as far as they were played, and yield the lines that are not `recorded` yet.

        game: makes the game of a number, with the numbers of its later lines.
        """
        for path, number, entries in self._found:
            for episode in lines_of(game(number, _branches(entries)), entries):
                if episode.origin.game not in recorded:
                    yield episode
            path.unlink(missing_ok=True)
            with suppress(OSError):
                path.parent.rmdir()

    def _read(self, path: Path) -> tuple[Path, int, list[Any]] | None:
        """The entries of a journal of such a game; a last line that was cut is left out."""
        lines = read_bytes(path, LARGEST, "remove it").splitlines()
        entries = []
        for line in lines:
            try:
                entries.append(json.loads(line))
            except ValueError:
                break
        if not entries or not isinstance(entries[0], dict):
            return None
        about = dict(entries[0])
        number = about.pop("game", None)
        return (path, number, entries[1:]) if about == self._about and isinstance(number, int) else None


def _branches(entries: Sequence[Any]) -> list[int]:
    """Numbers of the lines that begin where the person went back, each once: going back twice in a row begins one."""
    return [*dict.fromkeys(int(one["game"]) for one in entries if isinstance(one, dict) and BACK in one)]


def lines_of(game: CoachedGame, entries: Sequence[Any]) -> Iterator[Episode]:
    """Play what a journal says; yield the lines that were left, and the last one. BadInput for anything else."""
    for entry in entries:
        match entry:
            case [*held]:
                for keys in held:
                    game.frame(int(keys))
                if game.over and not game.recorded:
                    yield game.record()
            case {"back": float(seconds) | int(seconds), "game": int()}:
                held = int(entry.get("held", 0))  # earlier recorders did not note it, nor wait for other keys
                if (line := game.go_back(seconds, held)) is not None:
                    yield line
            case {"hand over": int(held)}:
                game.hand_over(held)
            case _:
                raise BadInput(f"a journal says {quoted(entry)}, expected keys, {BACK} or {HAND_OVER}")
    if not game.recorded:
        yield game.record()
