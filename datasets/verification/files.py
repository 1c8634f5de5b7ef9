"""Checks of a dataset's files: each episode, and the folder as a whole."""

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ...common.errors import BadInput
from ...common.reading import NotReadNow
from ..card import CARD, card_is_true
from ..columns import identity
from ..folder import ASIDE, DESCRIPTION, EPISODE_NAME, EPISODES, episode_files, names_in, read_info
from ..from_keys import replay_episodes
from ..parquet import ADVICE, open_episode_file
from ..schema import Episode
from ..summary import EpisodeStats, stats_of, summarise
from .branches import Place, parent_of, place_of, problems_of_branches
from .by_replay import can_replay, differences
from .problem import Problem

TOGETHER = 32
"""Files that a thread checks at a time; their games share the engine's lanes."""

_NUMBER = re.compile(r"\.?episode-(\d+)")


@dataclass(frozen=True)
class Checked:
    """The result for one episode's file. stats: None unless it holds an episode; digest: of its content, whatever its
    number; replayed: True if its game was played again; place: in its recording; parent: that of what a branch left."""

    path: Path
    problems: tuple[Problem, ...]
    stats: EpisodeStats | None = None
    digest: str | None = None
    replayed: bool = False
    place: Place | None = None
    parent: Place | None = None


class Verification:
    """The check of the dataset in `folder`: iterate over `episodes`, then call `of_folder`.

    Raises BadInput if the description cannot be read: without it nothing else is certain.
    """

    def __init__(self, folder: Path, *, replay: bool, threads: int) -> None:
        self.folder, self.replay, self.threads = folder, replay, threads
        self.info = read_info(folder)
        self.files = episode_files(folder)
        self.checked: list[Checked] = []

    def episodes(self) -> Iterator[Checked]:
        """Check every episode's file, several at a time, in the order of their numbers."""
        files = [*self.files.values()]
        groups = [files[first : first + TOGETHER] for first in range(0, len(files), TOGETHER)]
        with ThreadPoolExecutor(self.threads) as pool:
            for group in pool.map(self._check, groups):
                self.checked += group
                yield from group

    def of_folder(self) -> Iterator[Problem]:
        """Check relations between files, once all episodes are checked."""
        yield from self._of_copies()
        yield from self._of_branches()
        yield from self._of_gaps()
        yield from self._of_names()
        stats = [one.stats for one in self.checked if one.stats is not None]
        whole = bool(stats) and len(stats) == len(self.checked)
        if whole and card_is_true(self.folder, summarise(stats, self.info)) is False:
            yield Problem(self.folder / CARD, "its facts are not those of the episodes", harmless=True)

    def _check(self, paths: Sequence[Path]) -> list[Checked]:
        """Check some files; their games are replayed together."""
        found = [self._read(path) for path in paths]
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

    def _read(self, path: Path) -> tuple[Checked, Episode | None]:
        try:
            with open_episode_file(path, self.info) as file:
                table = file.table()
                episode, stats = file.episode_of(table), stats_of(file, table)
        except BadInput as error:
            found = str(error).removeprefix(f"{path}: ").removesuffix(f"; {ADVICE}")
            return Checked(path, (Problem(path, found, unread=isinstance(error, NotReadNow)),)), None
        return Checked(path, (), stats, identity(episode), False, place_of(episode), parent_of(episode)), episode

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

    def _of_gaps(self) -> Iterator[Problem]:
        """Numbers without an episode, though none was set aside, and no recorder was killed while it wrote it."""
        aside = names_in(self.folder / ASIDE) if (self.folder / ASIDE).is_dir() else []
        explained = {int(match[1]) for name in [*aside, *self._others()] if (match := _NUMBER.match(name))}
        missing = sorted({*range(max(self.files, default=0))} - {*self.files} - explained)
        if missing:
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            yield Problem(self.folder / EPISODES, f"no episode has the number {missing[0]}{more}", harmless=True)

    def _of_names(self) -> Iterator[Problem]:
        for name in sorted(names_in(self.folder)):
            if name not in (DESCRIPTION, CARD, EPISODES, ASIDE):
                yield Problem(self.folder / name, "no part of the dataset", harmless=True)
        for name in self._others():
            path = self.folder / EPISODES / name
            if name.endswith((".partial.parquet", ".claim")):
                yield Problem(path, "left by a recorder that was killed, unless one is writing now", harmless=True)
            elif name.endswith(".parquet"):
                yield Problem(path, "no episode of this dataset: expected a name that ends in the digest of its bytes")
            else:
                yield Problem(path, "no part of the dataset", harmless=True)

    def _others(self) -> list[str]:
        """Names in the folder of the episodes that are not theirs."""
        names = names_in(self.folder / EPISODES) if os.path.isdir(self.folder / EPISODES) else []
        return sorted(name for name in names if not EPISODE_NAME.fullmatch(name))
