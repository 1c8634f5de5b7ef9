"""The interface between a source of games and the recorder."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..common.errors import BadInput
from ..datasets.folder import next_number
from ..datasets.origin import Origin
from ..datasets.reader import open_dataset
from ..datasets.schema import DatasetInfo, Episode


@dataclass(frozen=True)
class Source:
    """A sequence of games to record, as episodes that fit `info`.

    All input is validated before a Source is created, so that nothing is written for bad input.

    episodes: each one is written before the next is requested. total: number of episodes, None if unknown. notes: lines
    to print before recording. written: callback with the file of each episode, once it is written. finish: called when
    recording ends for any reason; stops the source and returns the games in progress that are worth keeping, as far as
    they were played.
    """

    info: DatasetInfo
    episodes: Iterator[Episode]
    total: int | None = None
    notes: list[str] = field(default_factory=list)
    written: Callable[[Path], None] = lambda path: None
    finish: Callable[[], Iterable[Episode]] = tuple


@dataclass(frozen=True)
class Recorded:
    """The identity of an episode already in a dataset; see `Episode` for the fields."""

    source: str
    origin: Origin
    max_idle_frames: int | None


def recorded_games(folder: Path) -> list[Recorded]:
    """Identities of a dataset's episodes; empty if the folder has none yet."""
    if not folder.is_dir() or next_number(folder) == 0:
        return []
    dataset = open_dataset(folder)
    found = [dataset.metadata(index) for index in range(len(dataset))]
    return [Recorded(one["source"], Origin.from_json(one["origin"]), one["max_idle_frames"]) for one in found]


def games_of(folder: Path, games: Recorded) -> list[int]:
    """Numbers of a policy's games in a dataset.

    games: their identity without the number; with None as `max_idle_frames`, those of any.
    """
    return [
        one.origin.game
        for one in recorded_games(folder)
        if one.origin.game is not None
        and (one.source, replace(one.origin, game=None)) == (games.source, games.origin)
        and games.max_idle_frames in (None, one.max_idle_frames)
    ]


def require_new(paths: Sequence[Path], digests: Sequence[str], folder: Path) -> None:
    """BadInput for a file whose games the dataset already contains, or that is the same as another one."""
    seen = {game.origin.sha256: f"{folder} already contains it" for game in recorded_games(folder)}
    for path, digest in zip(paths, digests, strict=True):
        if digest in seen:
            raise BadInput(f"{path}: {seen[digest]}; remove it from source.files")
        seen[digest] = f"the same as {path}"
