"""Reading of the expert files of stable-baselines, in which the published recordings come.

Such a file is an .npz with one row per decision, episode after episode: `obs` [n, *shape], `actions` [n] or [n, 1],
`rewards` [n], `episode_starts` bool [n], and `episode_returns`, one per episode. The observation after an episode's
last action is missing.
"""

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput, naming
from ..common.npz import read_arrays
from ..common.reading import MEGABYTE
from ..envs.names import ACTIONS, FEATURES

ARRAYS = ("obs", "actions", "rewards", "episode_starts", "episode_returns")

EXPECTED = "expected an expert file of stable-baselines (.npz), such as a published recording"

LARGEST, MOST_ROWS = 256 * MEGABYTE, 400_000
"""Bytes and rows of a recording, at most; the published ones have a few megabytes."""

RETURN_TOLERANCE = 1e-3
"""Largest difference between the sum of a game's rewards and its return, summed in another order and precision."""


@dataclass(frozen=True)
class ExpertFile:
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


def read_expert_file(path: Path, shape: tuple[int, ...] = (len(FEATURES),), actions: int = len(ACTIONS)) -> ExpertFile:
    """Read an expert file; BadInput for a faulty one. Never unpickles anything.

    shape: of an observation. actions: their number. The defaults are those of published recordings.
    """
    arrays = read_arrays(path, ARRAYS, LARGEST, EXPECTED)
    with naming(path):
        return _checked(path.name, arrays, shape, actions)


def _checked(name: str, arrays: dict[str, NDArray[Any]], shape: tuple[int, ...], count: int) -> ExpertFile:
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
    return ExpertFile(name, digest.hexdigest()[:12], observations, actions.astype(np.int16), rewards, games)


def _floats(name: str, array: NDArray[Any], shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    fits = array.ndim == len(shape) and all(
        size in (None, length) for size, length in zip(shape, array.shape, strict=False)
    )
    if not fits or array.size == 0 or array.dtype.kind not in "fiu":
        expected = ", ".join("n" if size is None else str(size) for size in shape)
        raise BadInput(f"{name} are {array.dtype} {list(array.shape)}, expected numbers [{expected}]")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise BadInput(f"{name} hold NaN or infinity in row {np.argwhere(~np.isfinite(numbers))[0][0]}")
    return numbers
