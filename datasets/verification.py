"""Checks of a dataset's files: each episode, and the folder as a whole."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ..common.errors import BadInput
from ..common.reading import NotReadNow
from .card import CARD, card_is_true
from .columns import identity
from .differences import can_replay, differences_of_branch, differences_of_replay
from .folder import ASIDE, DESCRIPTION, EPISODE_NAME, EPISODES, episode_files, names_in, read_info
from .from_keys import replay_episodes
from .origin import Origin
from .parquet import ADVICE, open_episode_file
from .reader import read_episode
from .schema import Episode
from .summary import EpisodeStats, stats_of, summarise

TOGETHER = 32
"""Files that a thread checks at a time; their games share the engine's lanes."""

_NUMBER = re.compile(r"\.?episode-(\d+)")

Place = tuple[str, Origin]
"""An episode's source and origin, by which branches name it."""


@dataclass(frozen=True)
class Problem:
    """A faulty file, and its fault. harmless: no recorded data are affected, as with a file that does not belong to the
    dataset. advice: remedy.
    """

    file: Path
    found: str
    harmless: bool = False
    advice: str = "restore it, or move it out of the dataset"

    def __str__(self) -> str:
        return f"{self.file}: {self.found}"


@dataclass(frozen=True)
class Checked:
    """The result for one episode's file. stats: None unless it holds an episode; digest: of its content, whatever its
    number; replayed: True if its game was played again; place: in its recording; left: the place that a branch left."""

    path: Path
    problems: tuple[Problem, ...]
    stats: EpisodeStats | None = None
    digest: str | None = None
    replayed: bool = False
    place: Place | None = None
    left: Place | None = None


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
        yield from self._of_names()
        stats = [one.stats for one in self.checked if one.stats is not None]
        whole = bool(stats) and len(stats) == len(self.checked)
        if whole and card_is_true(self.folder, summarise(stats, self.info)) is False:
            yield Problem(self.folder / CARD, "its facts are not those of the episodes", harmless=True)

    def _check(self, paths: Sequence[Path]) -> list[Checked]:
        """Check some files; their games are replayed together."""
        found = [self._read(path) for path in paths]
        checked = [one for one, _ in found]
        playable = {
            place: episode
            for place, (_, episode) in enumerate(found)
            if self.replay and episode is not None and can_replay(episode, self.info)
        }
        games = replay_episodes([*playable.values()])
        for (place, episode), game in zip(playable.items(), games, strict=True):
            one = checked[place]
            problems = (Problem(one.path, text) for text in differences_of_replay(episode, game, self.info))
            checked[place] = replace(one, problems=(*one.problems, *problems), replayed=True)
        return checked

    def _read(self, path: Path) -> tuple[Checked, Episode | None]:
        try:
            with open_episode_file(path, self.info) as file:
                table = file.table()
                episode, stats = file.episode_of(table), stats_of(file, table)
        except NotReadNow as error:
            found = str(error).removeprefix(f"{path}: ").removesuffix(f"; {ADVICE}")
            later = "it may be whole: make it readable, and verify again"
            return Checked(path, (Problem(path, found, advice=later),)), None
        except BadInput as error:
            return Checked(
                path, (Problem(path, str(error).removeprefix(f"{path}: ").removesuffix(f"; {ADVICE}")),)
            ), None
        place, branch = (episode.source, episode.origin), episode.branch
        left = None if branch is None else (episode.source, replace(episode.origin, game=branch.game))
        return Checked(path, (), stats, identity(episode), place=place, left=left), episode

    def _of_copies(self) -> Iterator[Problem]:
        first: dict[str, Path] = {}
        for one in self.checked:
            if one.digest is not None and first.setdefault(one.digest, one.path) != one.path:
                yield Problem(one.path, f"the same episode as {first[one.digest].name}")

    def _of_branches(self) -> Iterator[Problem]:
        """Compare each branch with the episode that it left: any of those at its place, for there are several where
        recordings of the same policy and seed were merged."""
        places: dict[Place | None, list[Path]] = {}
        for one in self.checked:
            places.setdefault(one.place, []).append(one.path)
        for one in [one for one in self.checked if one.left is not None]:
            others = places.get(one.left)
            if not others:
                game = one.left and one.left[1].game
                yield Problem(one.path, f"the episode that it left, game {game}, is not here", harmless=True)
                continue
            branch = read_episode(one.path, self.info)
            found = [differences_of_branch(branch, read_episode(path, self.info)) for path in others]
            if None not in found:
                yield Problem(one.path, f"{found[0]} differs from {others[0].name}, which it left")

    def _of_names(self) -> Iterator[Problem]:
        """Numbers without an episode, though none was set aside, and no recorder was killed while it wrote it; files
        that are no part of the dataset."""
        names = {name: names_in(self.folder / name) for name in (ASIDE, EPISODES) if (self.folder / name).is_dir()}
        others = sorted(name for name in names.get(EPISODES, []) if not EPISODE_NAME.fullmatch(name))
        explained = {int(match[1]) for name in [*names.get(ASIDE, []), *others] if (match := _NUMBER.match(name))}
        missing = sorted({*range(max(self.files, default=0))} - {*self.files} - explained)
        if missing:
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            yield Problem(self.folder / EPISODES, f"no episode has the number {missing[0]}{more}", harmless=True)
        for name in sorted({*names_in(self.folder)} - {DESCRIPTION, CARD, EPISODES, ASIDE}):
            yield Problem(self.folder / name, "no part of the dataset", harmless=True)
        for name in others:
            path = self.folder / EPISODES / name
            if name.endswith((".partial.parquet", ".claim")):
                yield Problem(path, "left by a recorder that was killed, unless one is writing now", harmless=True)
            elif name.endswith(".parquet"):
                yield Problem(path, "no episode of this dataset: expected a name that ends in the digest of its bytes")
            else:
                yield Problem(path, "no part of the dataset", harmless=True)
