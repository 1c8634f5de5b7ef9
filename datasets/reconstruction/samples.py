"""The numbers of an imported recording in the published float64 (a dataset has float32). Full precision makes a
reconstruction certain. An import stores them in the dataset's folder `aside`, one file per recording.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...common.files import atomic_file
from ...common.npz import read_arrays
from ...common.reading import MEGABYTE
from ...envs.names import FEATURES
from ..folder import ASIDE

LARGEST = 256 * MEGABYTE
"""Bytes of a recording's numbers, at most."""

_X = np.array([column for column, name in enumerate(FEATURES) if name.endswith(".position_x")])
_TORSO_X = FEATURES.index("torso.position_x")


def samples_path(folder: Path, digest: str) -> Path:
    """The file that keeps the numbers of one recording of a dataset."""
    return folder / ASIDE / f"samples-{digest}.npz"


def write_samples(folder: Path, digest: str, games: Sequence[NDArray[np.float64]]) -> None:
    """Keep the samples of a recording's games, float64 [n, 71] each, as published."""
    lengths = np.array([len(game) for game in games])
    with atomic_file(samples_path(folder, digest)) as partial:
        np.savez_compressed(partial, observations=np.concatenate(games), lengths=lengths)


def read_samples(folder: Path, digest: str) -> list[NDArray[np.float64]]:
    """The samples of a recording's games, float64 [n, 71] each, x relative to the torso's; BadInput if they are
    missing."""
    path = samples_path(folder, digest)
    if not path.exists():
        raise BadInput(
            f"{path}: no such file; reconstruction needs the recording's full numbers, which an import keeps: import "
            "it again into a new dataset (qwop-record source=import)"
        )
    arrays = read_arrays(path, lambda _: ("observations", "lengths"), LARGEST, "import the recording again")
    observations, lengths = arrays["observations"], arrays["lengths"]
    fits = observations.ndim == 2 and observations.shape[1] == len(FEATURES) and observations.dtype == np.float64
    if not fits or lengths.ndim != 1 or lengths.dtype.kind != "i" or lengths.min(initial=1) < 1:
        raise BadInput(f"{path}: not the samples of a recording; import it again")
    if lengths.sum() != len(observations) or not np.isfinite(observations).all():
        raise BadInput(f"{path}: damaged ({len(observations)} samples, expected {lengths.sum()}); import it again")
    return np.split(relative_x(observations), np.cumsum(lengths)[:-1])


def relative_x(observations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Samples with x relative to the torso's, float64 [n, 71]; published files have that or absolute x."""
    relative = observations.copy()
    relative[:, _X] -= observations[:, [_TORSO_X]]
    return relative
