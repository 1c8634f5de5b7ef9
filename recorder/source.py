"""The interface between a source of games and the recorder, and checks that sources share."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path

from ..common.errors import BadInput
from ..datasets.folder import next_number, require_same
from ..datasets.from_keys import qwop_info
from ..datasets.origin import Origin
from ..datasets.reader import open_dataset
from ..datasets.schema import DatasetInfo, Episode
from .game_writer import GameWriter
from .settings import PolicyPlaySettings, RunnerSettings


@dataclass(frozen=True)
class Source:
    """A sequence of games to record, as episodes that fit `info`.

    All input is validated before a Source is created, so that nothing is written for bad input.

    episodes: each one is written before the next is requested. play: writes the games itself, in place of `episodes`,
    until `GameWriter.over`. total: number of episodes, None if unknown. notes: lines to print before recording. finish:
    called when recording ends for any reason; stops the source and writes the games in progress that are worth keeping,
    as far as they were played.
    """

    info: DatasetInfo
    episodes: Iterable[Episode] = ()
    total: int | None = None
    notes: list[str] = field(default_factory=list)
    play: Callable[[GameWriter], None] | None = None
    finish: Callable[[], object] = lambda: None

    def record(self, games: GameWriter) -> None:
        """Write the games until there are no more, or enough."""
        if self.play is not None:
            self.play(games)
        for episode in self.episodes:
            games.write(episode)
            if games.over:
                return


def info_for(settings: RunnerSettings, folder: Path) -> DatasetInfo:
    """Describe the dataset of a person's games before any is played.

    Raises BadInput for invalid settings, and if `folder` already holds a dataset with other settings.
    """
    info = qwop_info(
        frames_per_step=settings.frames_per_step, reward=settings.reward, observation_lag=settings.observation_lag
    )
    require_same(folder, info)
    return info


@dataclass(frozen=True)
class Identity:
    """The identity of an episode already in a dataset; see `Episode` for the fields."""

    source: str
    origin: Origin
    max_idle_frames: int | None

    def __str__(self) -> str:
        how = "greedy" if self.origin.greedy else "drawn"
        return f"{self.source} {self.origin.sha256}, seed {self.origin.seed}, {how}"

    def is_of(self, games: "Identity") -> bool:
        """True for one of a policy's games. games: their identity without the number; with None as `max_idle_frames`,
        those of any."""
        same = (self.source, replace(self.origin, game=None, page_game=None)) == (games.source, games.origin)
        return same and games.max_idle_frames in (None, self.max_idle_frames)


def identity_of(
    settings: PolicyPlaySettings, policy: str, played_in: str | None = None, max_idle_frames: int | None = None
) -> Identity:
    """Identity of the games of one policy file, seed and mode, without the game's number."""
    from ..policies.champion import policy_path  # only here: a person's recording starts sooner without PyTorch
    from ..policies.files import policy_digest

    path = policy_path(policy)
    origin = Origin(sha256=policy_digest(path), seed=settings.seed, greedy=settings.greedy, played_in=played_in)
    return Identity(path.name, origin, max_idle_frames)


def recorded_games(folder: Path) -> dict[Path, Identity]:
    """The episodes of a dataset and their identities; none if the folder has none yet."""
    if not folder.is_dir() or next_number(folder) == 0:
        return {}
    dataset = open_dataset(folder)
    entries = [dataset.metadata(index) for index in range(len(dataset))]
    games = [Identity(one["source"], Origin.from_json(one["origin"]), one["max_idle_frames"]) for one in entries]
    return dict(zip(dataset.files, games, strict=True))


def next_game(folder: Path, games: Identity) -> int:
    """The number of a policy's next game in a dataset. games: see `Identity.is_of`."""
    numbers = [one.origin.game for one in recorded_games(folder).values() if one.is_of(games)]
    return max((number for number in numbers if number is not None), default=-1) + 1


def find_files(patterns: Sequence[str], example: str, expected: str) -> list[Path]:
    """Find the files that paths and patterns ('demos/kuro_try*.npz') name, each once.

    Raises BadInput, which says what was `expected`, if one names none.
    """
    if not patterns:
        raise BadInput(f"source.files is empty: name the files, such as 'source.files=[{example}]'")
    files: dict[str, Path] = {}
    for pattern in patterns:
        matches = (
            [Path(pattern)] if os.path.exists(pattern) else [Path(one) for one in sorted(glob(pattern, recursive=True))]
        )
        if not matches:
            raise BadInput(f"{pattern}: no file of such a name; {expected}")
        for match in matches:
            files.setdefault(os.path.realpath(match), match)  # which a link to itself does not stop
    return list(files.values())


def require_new(paths: Sequence[Path], digests: Sequence[str], folder: Path) -> None:
    """BadInput for a file whose games the dataset already contains, or that is the same as another one."""
    reasons = {game.origin.sha256: f"{folder} already contains it" for game in recorded_games(folder).values()}
    for path, digest in zip(paths, digests, strict=True):
        if digest in reasons:
            raise BadInput(f"{path}: {reasons[digest]}; remove it from source.files")
        reasons[digest] = f"the same as {path}"
