"""Reading and validation of the published recordings, which are expert files of stable-baselines.

Such a file is an .npz with one row per decision, game after game: `obs` [n, 71], `actions` [n] or [n, 1], `rewards`
[n], `episode_starts` bool [n], and `episode_returns`, one per game. The observation after a game's last action is
missing.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...common.npz import read_arrays
from ...common.reading import MEGABYTE
from ...envs.names import ACTIONS, FEATURES

ARRAYS = ("obs", "actions", "rewards", "episode_starts", "episode_returns")

EXPECTED = "expected a published recording (.npz of a stable-baselines expert)"

LARGEST, MOST_ROWS = 256 * MEGABYTE, 400_000
"""Bytes and rows of a recording, at most; the published ones have a few megabytes."""

RETURN_TOLERANCE = 1e-3
"""Largest difference between the sum of a game's rewards and its return, summed in another order and precision."""


@dataclass(frozen=True)
class Recording:
    """A published file of n decisions.

    name: of the file. digest: of its arrays. observations: float64 [n, 71]. actions: int16 [n]. rewards: float64 [n].
    games: rows of each game.
    """

    name: str
    digest: str
    observations: NDArray[np.float64]
    actions: NDArray[np.int16]
    rewards: NDArray[np.float64]
    games: tuple[slice, ...]


def find_files(patterns: Sequence[str]) -> list[Path]:
    """Find the files that paths and patterns ('demos/kuro_try*.npz') name, each once; BadInput if one names none."""
    if not patterns:
        raise BadInput("source.files is empty: name the recordings, such as 'source.files=[demos/kuro_try1.npz]'")
    found: dict[str, Path] = {}
    for pattern in patterns:
        path = Path(pattern)
        matches = [path] if path.exists() or not set(pattern) & set("*?[") else sorted(path.parent.glob(path.name))
        if not matches:
            raise BadInput(f"{pattern}: no file of such a name; {EXPECTED}")
        for match in matches:
            found.setdefault(os.path.realpath(match), match)  # which a link to itself does not stop
    return list(found.values())


def read_recording(path: Path) -> Recording:
    """Read the recording in one file; BadInput says what is wrong with it. Never unpickles anything."""
    arrays = read_arrays(path, ARRAYS, LARGEST, EXPECTED)
    try:
        return _recording(path.name, arrays)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def _recording(name: str, arrays: dict[str, NDArray[Any]]) -> Recording:
    if arrays["obs"].ndim and len(arrays["obs"]) > MOST_ROWS:
        raise BadInput(f"{len(arrays['obs']):,} rows, expected at most {MOST_ROWS:,}")
    observations = _floats("obs", arrays["obs"], (None, len(FEATURES)))
    rows = len(observations)
    actions = arrays["actions"]
    if actions.shape not in ((rows,), (rows, 1)):
        raise BadInput(f"actions have shape {list(actions.shape)}, expected [{rows}] or [{rows}, 1]")
    actions = actions.reshape(rows)
    if actions.dtype.kind not in "iu":
        raise BadInput(f"actions are {actions.dtype}, expected whole numbers")
    if ((actions < 0) | (actions >= len(ACTIONS))).any():
        raise BadInput(f"actions from {actions.min()} to {actions.max()}, expected 0 … {len(ACTIONS) - 1}")
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
