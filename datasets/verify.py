"""`qwop-dataset verify`: check everything about a dataset, each episode and the folder as a whole.

An episode of QWOP is compared with the replay of its keys, a branch with the episode that it left.
"""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..common.command import Command
from ..common.cores import cores
from ..common.errors import BadInput
from ..common.progress import plain_console, progress_bar
from ..common.run_folder import clone_next
from ..common.settings import HomePath, Settings
from ..envs.names import ACTION_KEYS
from ..envs.qwop.session import Replay
from ..envs.qwop.task import QWOPTask
from .control import REPEATED
from .describe import CARD
from .folder import ASIDE, DESCRIPTION, EPISODES, episode_files, episode_number, names_in, read_info
from .from_keys import decision_action, fields_along, own_bounds, replay_episode
from .origin import Origin
from .parquet import ADVICE, episode_of, episode_table, identity, read_episode
from .schema import DatasetInfo, Episode

_NUMBER = re.compile(r"episode-(\d+)")


class VerifySettings(Settings):
    """The dataset to verify."""

    dataset: Annotated[HomePath, Field(examples=["data/me"])]
    """Folder of the dataset."""
    replay: bool = False
    """Also replay every game from its keys, and compare observations, rewards and ending to the bit."""


@dataclass(frozen=True)
class Problem:
    """A faulty file, and its fault. harmless: no recorded data are affected, as with a file that does not belong to the
    dataset."""

    file: Path
    fault: str
    harmless: bool = False

    def __str__(self) -> str:
        return f"{self.file}: {self.fault}"


@dataclass
class Checked:
    """The result for one episode's file. problems: found in it alone. steps: decisions. digest: of its content,
    whatever its number. place: its source and origin, by which branches name it; parent: the place that a branch left.
    replayed: True if its game was played again."""

    path: Path
    problems: Sequence[Problem]
    steps: int = 0
    digest: str | None = None
    place: tuple[str, Origin] | None = None
    parent: tuple[str, Origin] | None = None
    replayed: bool = False


def run(settings: VerifySettings) -> None:
    """Check the files and print a line for every problem; BadInput unless all are harmless."""
    console, folder = plain_console(), Path(settings.dataset)
    checked, problems = verify(folder, replay=settings.replay)
    for note in [one for one in problems if one.harmless]:
        console.print(f"note: {note}")
    faults = [one for one in problems if not one.harmless]
    if len(faults) == 1:
        raise BadInput(f"{faults[0]}; restore it, or move it out of the dataset")
    if faults:
        console.print("\n".join(map(str, faults)))
        files = len({fault.file for fault in faults})
        raise BadInput(f"{folder}: {len(faults)} problems in {files} files, the first in {faults[0].file}")
    steps = sum(one.steps for one in checked)
    parts = [f"{len(checked):,} episodes with {steps:,} decisions are whole"]
    if settings.replay:
        parts.append(f"{sum(one.replayed for one in checked):,} played again, equal to the bit")
    console.print(f"{folder}: {', '.join(parts)}")
    if checked:
        console.print(clone_next(folder))


def verify(folder: Path, *, replay: bool) -> tuple[list[Checked], list[Problem]]:
    """Check every episode's file, several at a time, then relations between files. Returns the results in the order of
    the episodes' numbers, and all problems.

    Raises BadInput if the description cannot be read: without it nothing else is certain.
    """
    info, files = read_info(folder), [*episode_files(folder).values()]
    with ThreadPoolExecutor(cores()) as pool, progress_bar("episodes", plain_console()) as progress:
        checks = pool.map(lambda path: _check(path, info, replay), files)
        checked = [*progress.track(checks, len(files), description="verifying")]
    problems = [problem for one in checked for problem in one.problems]
    problems += [*_of_copies(checked), *_of_branches(checked, info), *_of_names(folder, checked)]
    return checked, problems


def _check(path: Path, info: DatasetInfo, replay: bool) -> Checked:
    try:
        with episode_table(path, info) as table:
            episode = episode_of(table, info, episode_number(path))
    except BadInput as error:
        return Checked(path, [Problem(path, str(error).removeprefix(f"{path}: ").removesuffix(f"; {ADVICE}"))])
    origin, branch = replace(episode.origin, page_game=None), episode.branch
    parent = None if branch is None else (episode.source, replace(origin, game=branch.game))
    replayed = replay and can_replay(episode, info)
    differences = differences_of_replay(episode, replay_episode(episode), info) if replayed else ()
    problems = [Problem(path, text) for text in differences]
    return Checked(path, problems, len(episode), identity(episode), (episode.source, origin), parent, replayed)


def _of_copies(checked: Sequence[Checked]) -> Iterator[Problem]:
    first: dict[str, Path] = {}
    for one in checked:
        if one.digest is not None and first.setdefault(one.digest, one.path) != one.path:
            yield Problem(one.path, f"the same episode as {first[one.digest].name}")


def _of_branches(checked: Sequence[Checked], info: DatasetInfo) -> Iterator[Problem]:
    """Compare each branch with the episode that it left: any of those at its place, for there are several where
    recordings of the same policy and seed were merged."""
    places: dict[object, list[Path]] = {}
    for one in checked:
        places.setdefault(one.place, []).append(one.path)
    for one in [one for one in checked if one.parent is not None]:
        others = places.get(one.parent)
        if not others:
            game = one.parent and one.parent[1].game
            yield Problem(one.path, f"the episode that it left, game {game}, is not here", harmless=True)
            continue
        branch = read_episode(one.path, info)
        differences = [differences_of_branch(branch, read_episode(path, info)) for path in others]
        if None not in differences:
            yield Problem(one.path, f"{differences[0]} differs from {others[0].name}, which it left")


def _of_names(folder: Path, checked: Sequence[Checked]) -> Iterator[Problem]:
    """Numbers without an episode, though none was set aside; files that are no part of the dataset."""
    inside, apart = (names_in(folder / name) if (folder / name).is_dir() else [] for name in (EPISODES, ASIDE))
    games = {one.path.name: episode_number(one.path) or 0 for one in checked}
    numbers = {int(match[1]) for name in [*apart, *games] if (match := _NUMBER.match(name))}
    if missing := sorted({*range(max(games.values(), default=0))} - numbers):
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        yield Problem(folder / EPISODES, f"no episode has the number {missing[0]}{more}", harmless=True)
    others = [folder / name for name in {*names_in(folder)} - {DESCRIPTION, CARD, EPISODES, ASIDE}]
    for path in sorted([*others, *(folder / EPISODES / name for name in inside if name not in games)]):
        fault, harmless = "no part of the dataset", True
        if path.name.endswith(".partial.parquet"):
            fault = "left by a recorder that was killed, unless one is writing now"
        elif path.suffix == ".parquet" and path.parent != folder:
            fault, harmless = "no episode of this dataset: expected a name that ends in the digest of its bytes", False
        yield Problem(path, fault, harmless)


def can_replay(episode: Episode, info: DatasetInfo) -> bool:
    """True if the simulator is expected to reproduce the episode from its keys."""
    played_here = episode.keys is not None and episode.times is not None and not episode.origin.differs
    return info.environment.capabilities.keys and played_here


def differences_of_replay(episode: Episode, game: Replay, info: DatasetInfo) -> Iterator[str]:
    """Find values that differ in any bit from an episode's replay: row, field, recorded and replayed value."""
    frames, recorded = len(game.states) - 1, len(episode.keys_of_frames)
    if frames < recorded:
        row = int(np.searchsorted(np.cumsum(episode.frames), frames, side="right"))
        yield f"row {row}, keys: the game ends after {frames} frames, but keys of {recorded} are recorded"
        return
    task = QWOPTask(**info.environment.settings)
    bounds = np.unique(own_bounds(episode, game))
    replayed, names = fields_along(game, bounds, task), info.environment.capabilities.observation_names
    for field, array in (("observation", "observations"), ("reward", "rewards"), ("timestamp", "times")):
        record, replay = getattr(episode, array), replayed[array]
        if record.shape != replay.shape:
            yield f"{field}: {list(record.shape)} recorded, {list(replay.shape)} by replay"
            continue
        bits = f"u{record.itemsize}"
        if len(wrong := np.argwhere(record.view(bits) != replay.view(bits))):
            place = tuple(wrong[0].tolist())
            which = f" {names[place[1]]}" if len(place) > 1 and names else ""
            more = f"; {len(wrong) - 1:,} more differ" if len(wrong) > 1 else ""
            yield f"row {place[0]}, {field}{which}: {record[place]!s}, by replay {replay[place]!s}{more}"
    for field in ("terminated", "outcome", "metres"):
        if getattr(episode, field) != replayed[field]:
            yield f"{field}: {getattr(episode, field)}, by replay {replayed[field]}"
    yield from _wrong_actions(episode, task, int(bounds[0]))


def _wrong_actions(episode: Episode, task: QWOPTask, idle: int) -> Iterator[str]:
    """Find actions that are neither the keys that a decision ended with nor the most frequent ones of its frames.

    idle: frames of the first row's keys that came before its decision.
    """
    assert episode.keys is not None
    has_frames = episode.frames > 0
    last_keys = np.full(len(episode), 255)
    last_keys[has_frames] = episode.keys_of_frames[np.cumsum(episode.frames)[has_frames] - 1]
    for row in np.flatnonzero(last_keys != ACTION_KEYS[episode.actions]).tolist():
        keys = episode.keys[row][0 if row else idle :]
        # A late decision of one frame has none with its own keys.
        late = task.delay and len(keys) <= 1
        possible = {decision_action(keys), decision_action(keys[-task.frames_per_step :])} if len(keys) else set()
        if not late and int(episode.actions[row]) not in possible:
            yield f"row {row}, action: {episode.actions[row]}, which is not what the keys of its frames do"
            return


def differences_of_branch(branch: Episode, origin: Episode) -> str | None:
    """Name the first part of the shared decisions that differs in any bit from the episode that the branch left; None
    if none does."""
    assert branch.branch is not None
    step = branch.branch.step
    if step > len(origin):
        return f"the number of shared decisions, {step:,} of {len(origin):,},"
    for name in REPEATED:
        rows = step + 1 if name in ("observations", "times") else step
        if _bytes(getattr(branch, name), rows) != _bytes(getattr(origin, name), rows):
            return f"{name.replace('_', ' ')} before row {step}"
    frames = int(branch.frames[:step].sum())
    same = np.array_equal(branch.keys_of_frames[:frames], origin.keys_of_frames[:frames])
    return None if same and np.array_equal(branch.frames[:step], origin.frames[:step]) else f"keys before row {step}"


def _bytes(array: NDArray[Any] | None, rows: int) -> bytes | None:
    return None if array is None else np.ascontiguousarray(array[:rows]).tobytes()


command = Command(
    "dataset verify",
    VerifySettings,
    run,
    about="Verify a dataset: digests, schema, numbers, counts and, with replay=true, every game by replaying it.",
    examples=[
        ("qwop-dataset verify data/me", ""),
        ("qwop-dataset verify data/me replay=true", "check that every game replays as recorded"),
    ],
)
