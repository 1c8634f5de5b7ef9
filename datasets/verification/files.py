"""Checks of a dataset's files: each episode, and the folder as a whole."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ...common.errors import BadInput
from ...common.reading import MEGABYTE, CannotBeRead, NotReadNow, parse_json, read_bytes
from ..arrow import HASH
from ..card import CARD, card_is_true
from ..checksums import CHECKSUMS, malformed_lines, read_checksums, sha256
from ..croissant import CROISSANT, croissant
from ..episode_file import ADVICE, open_episode_file
from ..folder import DESCRIPTION, EPISODE_NAME, SUBFOLDERS, episode_numbers, parse_info, read_description
from ..from_keys import replay_episodes
from ..schema import DatasetInfo, Episode
from ..summary import Facts, facts_in, summarise
from .branches import Place, parent_of, place_of, problems_of_branches
from .by_replay import can_replay, differences
from .problem import Problem

OTHERS = (DESCRIPTION, CHECKSUMS, CARD, CROISSANT, *SUBFOLDERS)
"""Other names that a dataset's folder may contain, besides episodes."""


TOGETHER = 32
"""Files that a thread checks at a time; their games share the engine's lanes."""


@dataclass(frozen=True)
class Checked:
    """The result for one episode's file. facts: None unless it holds an episode; digest: the hash of its content;
    replayed: True if its game was played again; place: in its recording; parent: the place of what a branch left."""

    path: Path
    problems: tuple[Problem, ...]
    facts: Facts | None = None
    digest: str | None = None
    replayed: bool = False
    place: Place | None = None
    parent: Place | None = None


class Verification:
    """The check of the dataset in `folder`: iterate over `episodes`, then call `of_folder`.

    Raises BadInput if the description or the list of checksums cannot be read: without them nothing else is certain.
    """

    def __init__(self, folder: Path, *, replay: bool, threads: int) -> None:
        self.folder, self.replay, self.threads = folder, replay, threads
        self.description = read_description(folder)
        self.info = parse_info(self.description, folder / DESCRIPTION)
        self.checksums = read_checksums(folder)
        self.names = tuple(episode_numbers(folder).values())
        self.checked: list[Checked] = []

    def episodes(self) -> Iterator[Checked]:
        """Check every episode's file, several at a time, in the order of their numbers."""
        groups = [self.names[first : first + TOGETHER] for first in range(0, len(self.names), TOGETHER)]
        with ThreadPoolExecutor(self.threads) as pool:
            for group in pool.map(self._check, groups):
                self.checked += group
                yield from group

    def of_folder(self) -> Iterator[Problem]:
        """Check relations between files, once all episodes are checked."""
        yield from self._of_list()
        yield from self._of_copies()
        yield from self._of_branches()
        yield from self._of_names()
        yield from self._of_derived()

    def _check(self, names: Sequence[str]) -> list[Checked]:
        """Check some files; their games are replayed together."""
        found = [self._read(name) for name in names]
        checked = [one for one, _ in found]
        if not self.replay:
            return checked
        playable = {
            place: episode
            for place, (_, episode) in enumerate(found)
            if episode is not None and can_replay(episode, self.info)
        }
        games = replay_episodes([*playable.values()])
        for (place, episode), game in zip(playable.items(), games, strict=True):
            one = checked[place]
            problems = (Problem(one.path, text) for text in differences(episode, game, self.info))
            checked[place] = replace(one, problems=(*one.problems, *problems), replayed=True)
        return checked

    def _read(self, name: str) -> tuple[Checked, Episode | None]:
        path = self.folder / name
        try:
            with open_episode_file(path) as file:
                table = file.table(self.info)
                episode = file.episode_of(table, self.info)
                facts, own_hash = facts_in(table, self.info, file.metadata), file.metadata.get(HASH)
        except BadInput as error:
            return Checked(path, (_problem(path, error),)), None
        problems = []
        if self.checksums.get(name, file.sha256) != file.sha256:
            whole = f", but its content has the hash that its metadata give ({HASH})" if self.info.version > 1 else ""
            problems.append(Problem(path, f"its SHA-256 is not the one in {CHECKSUMS}{whole}"))
        places = place_of(episode), parent_of(episode)
        return Checked(path, tuple(problems), facts, own_hash, False, *places), episode

    def _of_list(self) -> Iterator[Problem]:
        path = self.folder / CHECKSUMS
        if self.checksums.get(DESCRIPTION, sha256(self.description)) != sha256(self.description):
            yield Problem(self.folder / DESCRIPTION, f"its SHA-256 is not the one in {CHECKSUMS}")
        for name in sorted({*self.checksums} - {DESCRIPTION, *self.names}):
            yield Problem(self.folder / name, f"missing, though {CHECKSUMS} lists it")
        cut, lines = malformed_lines(self.folder)
        if cut:
            yield Problem(
                path,
                f"line {cut[0]} was cut off by a full disk or a power failure; qwop-dataset describe removes it",
                harmless=self.info.version > 1,
            )
        if lines:
            more = f", nor are {len(lines) - 1:,} others" if len(lines) > 1 else ""
            yield Problem(path, f"line {lines[0]} is no checksum of a file of this dataset{more}")
        if self.info.version > 1:
            unlisted = [name for name in (DESCRIPTION, *self.names) if name not in self.checksums]
            if len(unlisted) == len(self.names) + 1:
                yield Problem(path, "missing; the hash of each file's own content was checked instead", harmless=True)
            else:
                for name in unlisted:
                    yield Problem(self.folder / name, f"not listed in {CHECKSUMS}", harmless=True)

    def _of_copies(self) -> Iterator[Problem]:
        first: dict[str, Path] = {}
        for one in self.checked:
            if one.digest is not None and first.setdefault(one.digest, one.path) != one.path:
                yield Problem(one.path, f"the same episode as {first[one.digest].name}")

    def _of_branches(self) -> Iterator[Problem]:
        branches = [(one.path, one.parent) for one in self.checked if one.parent is not None]
        places: dict[Place, list[Path]] = {}
        for one in self.checked:
            if one.place is not None:
                places.setdefault(one.place, []).append(one.path)
        yield from problems_of_branches(branches, places, self.info)

    def _of_names(self) -> Iterator[Problem]:
        for entry in sorted(os.scandir(self.folder), key=lambda entry: entry.name):
            if entry.name in OTHERS or EPISODE_NAME.fullmatch(entry.name):
                continue
            path = self.folder / entry.name
            if entry.name.endswith(".partial.parquet") or entry.name.endswith(".claim"):
                yield Problem(path, "left by a recorder that was killed, unless one is writing now", harmless=True)
            elif entry.name.endswith(".parquet"):
                yield Problem(path, "no episode of this dataset: expected a name such as episode-000000.parquet")
            else:
                yield Problem(path, "no part of the dataset", harmless=True)

    def _of_derived(self) -> Iterator[Problem]:
        facts = [one.facts for one in self.checked if one.facts is not None]
        whole = bool(facts) and len(facts) == len(self.checked)
        try:
            if whole and card_is_true(self.folder, summarise(facts, self.info)) is False:
                yield Problem(self.folder / CARD, "its facts are not those of the episodes", harmless=True)
            path = self.folder / CROISSANT
            if os.path.lexists(path) and not _is_croissant_of(read_bytes(path, MEGABYTE, "move it away"), self.info):
                yield Problem(path, "does not describe this dataset", harmless=True)
        except CannotBeRead as error:
            file, _, found = str(error).partition(": ")
            yield Problem(Path(file), found)


def _is_croissant_of(content: bytes, info: DatasetInfo) -> bool:
    """True if the file describes such a dataset, under any name, as folders get renamed."""
    try:
        found = parse_json(content)
        return bool(found == croissant(found["name"], info))
    except (ValueError, KeyError, TypeError):
        return False


def _problem(path: Path, error: BadInput) -> Problem:
    found = str(error).removeprefix(f"{path}: ").removesuffix(f"; {ADVICE}")
    return Problem(path, found, unread=isinstance(error, NotReadNow))
