"""Reading of the expert files of stable-baselines, in which the published recordings come.

Such a file is an .npz with one row per decision, episode after episode: `obs` [n, 71], `actions` [n] or [n, 1],
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

LARGEST = 256 * MEGABYTE
"""Bytes of a recording, at most; the published ones have a few megabytes."""

RETURN_TOLERANCE = 1e-3
"""Largest difference between the sum of a game's rewards and its return, summed in another order and precision."""


@dataclass(frozen=True)
class ExpertFile:
    """An expert file of n decisions.

    name: of the file. digest: of its arrays. observations: float64 [n, 71]. actions: int16 [n]. rewards: float64 [n].
    games: rows of each game.
    """

    name: str
    digest: str
    observations: NDArray[np.float64]
    actions: NDArray[np.int16]
    rewards: NDArray[np.float64]
    games: tuple[slice, ...]


def read_expert_file(path: Path) -> ExpertFile:
    """Read an expert file; BadInput for a faulty one. Never unpickles anything."""
    arrays = read_arrays(path, ARRAYS, LARGEST, EXPECTED)
    with naming(path):
        return _checked(path.name, arrays)


def _checked(name: str, arrays: dict[str, NDArray[Any]]) -> ExpertFile:
    observations = _require("obs", arrays["obs"], (None, len(FEATURES))).astype(np.float64)
    rows = len(observations)
    actions = arrays["actions"][:, 0] if arrays["actions"].shape[1:] == (1,) else arrays["actions"]
    actions = _require("actions", actions, (rows,), "iu")
    if ((actions < 0) | (actions >= len(ACTIONS))).any():
        raise BadInput(f"actions from {actions.min()} to {actions.max()}, expected 0 … {len(ACTIONS) - 1}")
    rewards = _require("rewards", arrays["rewards"], (rows,)).astype(np.float64)
    starts = _require("episode_starts", arrays["episode_starts"], (rows,), "b")
    if not starts[0]:
        raise BadInput("episode_starts does not begin with a start")
    bounds = [*np.flatnonzero(starts).tolist(), rows]
    games = tuple(slice(start, end) for start, end in pairwise(bounds))
    returns = _require("episode_returns", arrays["episode_returns"], (len(games),))
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


def _require(name: str, array: NDArray[Any], shape: tuple[int | None, ...], kinds: str = "fiu") -> NDArray[Any]:
    """The array, which has numbers of these kinds of NumPy's; BadInput for another one."""
    sizes = zip(shape, array.shape, strict=False)
    fits = array.ndim == len(shape) and all(size in (None, length) for size, length in sizes)
    if not fits or array.size == 0 or array.dtype.kind not in kinds:
        expected = ", ".join("n" if size is None else str(size) for size in shape)
        what = {"iu": "whole numbers", "b": "bool"}.get(kinds, "numbers")
        raise BadInput(f"{name} are {array.dtype} {list(array.shape)}, expected {what} [{expected}]")
    if not np.isfinite(array).all():
        raise BadInput(f"{name} hold NaN or infinity in row {np.argwhere(~np.isfinite(array))[0][0]}")
    return array
