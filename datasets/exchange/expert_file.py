"""To and from the expert files of stable-baselines, in which the published recordings come.

Such a file is an .npz with one row per decision, episode after episode: `obs` [n, *shape], `actions` [n] or [n, 1],
`rewards` [n], `episode_starts` bool [n], and `episode_returns`, one per episode. The observation after an episode's
last action is missing.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput, naming
from ...common.npz import read_arrays
from ...common.reading import MEGABYTE
from ...envs.names import ACTIONS, FEATURES
from ..origin import Origin
from ..schema import DatasetInfo, Episode
from .imported import Imported, Unknown, filled_in, imported_episode, info_of
from .parts import REPEATED

ARRAYS = ("obs", "actions", "rewards", "episode_starts", "episode_returns")

EXPECTED = "expected an expert file of stable-baselines (.npz), such as a published recording"

LARGEST, MOST_ROWS = 256 * MEGABYTE, 400_000
"""Bytes and rows of a recording, at most; the published ones have a few megabytes."""

RETURN_TOLERANCE = 1e-3
"""Largest difference between the sum of a game's rewards and its return, summed in another order and precision."""


LOST = (
    "the observation after the last decision (an import repeats the one before)",
    "the endings: an import takes an episode for terminated, unless it is as long as the environment permits",
    "behaviour probabilities, times, keys, and who acted",
    "player, source, start and outcome",
)
"""Content of a dataset that expert files do not hold."""


@dataclass(frozen=True)
class Recording:
    """An expert file of n decisions.

    name: of the file. digest: of its arrays. observations: float64 [n, *shape], 71 features in published recordings.
    actions: int16 [n]. rewards: float64 [n]. games: rows of each game.
    """

    name: str
    digest: str
    observations: NDArray[np.float64]
    actions: NDArray[np.int16]
    rewards: NDArray[np.float64]
    games: tuple[slice, ...]


def read_recording(path: Path, shape: tuple[int, ...] = (len(FEATURES),), actions: int = len(ACTIONS)) -> Recording:
    """Read an expert file; BadInput for a faulty one. Never unpickles anything.

    shape: of an observation. actions: their number. The defaults are those of published recordings.
    """
    arrays = read_arrays(path, ARRAYS, LARGEST, EXPECTED)
    with naming(path):
        return _recording(path.name, arrays, shape, actions)


def read(path: Path, unknown: Unknown) -> Imported:
    """Open an expert file, whose environment has to be given; numbers are taken as they are.

    Published recordings of QWOP follow conventions of their own, which `qwop-record source=import` converts.
    """
    info = info_of(unknown.environment)
    recording = read_recording(path, info.observation.shape, info.actions)
    ends = "an episode is terminated, unless it is as long as the environment permits, and then truncated"
    total = len(recording.games)
    return Imported(info, _episodes(recording, info, unknown, path), total, filled_in(unknown, REPEATED, ends))


def _episodes(recording: Recording, info: DatasetInfo, unknown: Unknown, path: Path) -> Iterator[Episode]:
    most = info.environment.longest_episode
    for number, rows in enumerate(recording.games):
        observations = recording.observations[rows]
        if info.observation.dtype == "uint8" and not np.array_equal(observations, observations.astype(np.uint8)):
            raise BadInput(f"{path}: episode {number}: observations are no whole numbers from 0 to 255")
        with naming(f"{path}: episode {number}"):
            yield imported_episode(
                info,
                unknown,
                np.concatenate([observations, observations[-1:]]),
                recording.actions[rows],
                recording.rewards[rows],
                terminated=most is None or rows.stop - rows.start < most,
                source=recording.name,
                origin=Origin(sha256=recording.digest, game=number),
            )


def export(episodes: Iterable[Episode], info: DatasetInfo, path: Path) -> None:
    """Write the decisions of episodes as an expert file, in the types that they have."""
    every = list(episodes)
    starts = [np.arange(len(episode)) == 0 for episode in every]
    with path.open("xb") as file:
        np.savez(
            file,
            obs=np.concatenate([episode.observations[:-1] for episode in every]),
            actions=np.concatenate([episode.actions for episode in every])[:, None],
            rewards=np.concatenate([episode.rewards for episode in every]),
            episode_starts=np.concatenate(starts),
            episode_returns=np.array([episode.rewards.sum(dtype=np.float64) for episode in every]),
        )


def _recording(name: str, arrays: dict[str, NDArray[Any]], shape: tuple[int, ...], count: int) -> Recording:
    if arrays["obs"].ndim and len(arrays["obs"]) > MOST_ROWS:
        raise BadInput(f"{len(arrays['obs']):,} rows, expected at most {MOST_ROWS:,}")
    observations = _floats("obs", arrays["obs"], (None, *shape))
    rows = len(observations)
    actions = arrays["actions"]
    if actions.shape not in ((rows,), (rows, 1)):
        raise BadInput(f"actions have shape {list(actions.shape)}, expected [{rows}] or [{rows}, 1]")
    actions = actions.reshape(rows)
    if actions.dtype.kind not in "iu":
        raise BadInput(f"actions are {actions.dtype}, expected whole numbers")
    if ((actions < 0) | (actions >= count)).any():
        raise BadInput(f"actions from {actions.min()} to {actions.max()}, expected 0 … {count - 1}")
    rewards = _floats("rewards", arrays["rewards"], (rows,))
    starts = arrays["episode_starts"]
    if starts.shape != (rows,) or starts.dtype != np.bool_:
        raise BadInput(f"episode_starts are {starts.dtype} {list(starts.shape)}, expected bool [{rows}]")
    if not starts[0]:
        raise BadInput("episode_starts does not begin with a start")
    bounds = [*np.flatnonzero(starts).tolist(), rows]
    games = tuple(slice(start, end) for start, end in pairwise(bounds))
    returns = _floats("episode_returns", arrays["episode_returns"], (len(games),))
    for number, game in enumerate(games):
        total = rewards[game].sum()
        if abs(total - returns[number]) > RETURN_TOLERANCE * max(1.0, abs(total)):
            raise BadInput(
                f"game {number} has the return {returns[number]:.3f}, but its rewards sum to {total:.3f}; "
                "the file is damaged"
            )
    digest = hashlib.sha256()
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).tobytes())
    return Recording(name, digest.hexdigest()[:12], observations, actions.astype(np.int16), rewards, games)


def _floats(name: str, array: NDArray[Any], shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    fits = array.ndim == len(shape) and all(
        size in (None, found) for size, found in zip(shape, array.shape, strict=False)
    )
    if not fits or array.size == 0 or array.dtype.kind not in "fiu":
        expected = ", ".join("n" if size is None else str(size) for size in shape)
        raise BadInput(f"{name} are {array.dtype} {list(array.shape)}, expected numbers [{expected}]")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise BadInput(f"{name} hold NaN or infinity in row {np.argwhere(~np.isfinite(numbers))[0][0]}")
    return numbers
