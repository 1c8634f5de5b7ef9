"""From files of arrays: NumPy's `.npz`, and HDF5 of D4RL's form.

Both have a row for each decision, episode after episode: `observations`, `actions`, `rewards`, and where episodes end,
`terminations` and `truncations` (D4RL: `terminals`, `timeouts`). `next_observations` hold the observations after the
decisions; without them, `observations` may have a row more for each episode.
"""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ...common.checks import LONGEST_REASON, quoted
from ...common.errors import BadInput
from ...common.npz import array_names, read_arrays
from ...common.reading import MEGABYTE
from ..arrays import ArrayForm
from .imported import Imported, Unknown
from .parts import imported, parts_of

LARGEST = 2048 * MEGABYTE
"""Bytes of a file and of its arrays, at most."""

NAMES = {
    "observations": ("observations", "observation", "obs"),
    "actions": ("actions", "action"),
    "rewards": ("rewards", "reward"),
    "terminated": ("terminations", "terminated", "terminals", "terminal", "dones", "done"),
    "truncated": ("truncations", "truncated", "timeouts", "timeout"),
    "following": ("next_observations", "next_obs"),
}
"""Names that arrays go by, the first being the one to give them."""

NEEDED = ("observations", "actions")

EXPECTED = "expected arrays observations, actions, rewards, terminations and truncations, with a row for each decision"

HDF5 = b"\x89HDF\r\n\x1a\n"


def is_arrays(path: Path) -> bool:
    """True for an `.npz` of such arrays; expert files of stable-baselines, which have `episode_starts`, are not."""
    names = array_names(path, LARGEST, EXPECTED)
    return "episode_starts" not in names


def read_npz(path: Path, unknown: Unknown) -> Imported:
    """Open an `.npz` of arrays, whose environment has to be given. Never unpickles anything."""
    form = ArrayForm.of(unknown.environment)
    chosen = _chosen(path, array_names(path, LARGEST, EXPECTED))
    arrays = read_arrays(path, [*chosen.values()], LARGEST, EXPECTED)
    return _imported(path, form, unknown, {own: arrays[name] for own, name in chosen.items()})


def is_d4rl(path: Path) -> bool:
    """True for an HDF5 file with D4RL's arrays; d3rlpy's files name theirs otherwise."""
    with path.open("rb") as file:
        if file.read(len(HDF5)) != HDF5:
            return False
    with _h5py().File(path, "r") as file:
        return all(any(name in file for name in NAMES[needed]) for needed in NEEDED)


def read_hdf5(path: Path, unknown: Unknown) -> Imported:
    """Open an HDF5 file of arrays, whose environment has to be given; BadInput if h5py is not installed."""
    h5py = _h5py()
    form = ArrayForm.of(unknown.environment)
    try:
        with h5py.File(path, "r") as file:
            kept = [name for name, one in file.items() if isinstance(one, h5py.Dataset)]
            chosen = _chosen(path, kept)
            size = sum(file[name].size * file[name].dtype.itemsize for name in chosen.values())
            if size > LARGEST:
                raise BadInput(
                    f"{path}: arrays of {size / MEGABYTE:,.0f} MB, expected {LARGEST / MEGABYTE:,.0f} at most"
                )
            arrays = {own: file[name][()] for own, name in chosen.items()}
    except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{path}: h5py cannot read it ({quoted(error, LONGEST_REASON)}); {EXPECTED}") from None
    return _imported(path, form, unknown, arrays)


def _imported(path: Path, form: ArrayForm, unknown: Unknown, arrays: dict[str, NDArray[Any]]) -> Imported:
    try:
        parts = parts_of(*(arrays.get(name) for name in NAMES))  # type: ignore[arg-type]
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    return imported(parts, form, unknown, path)


def _chosen(path: Path, found: list[str]) -> dict[str, str]:
    """The name in the file of each array that it has; BadInput if a needed one is missing."""
    chosen = {own: next((name for name in names if name in found), "") for own, names in NAMES.items()}
    if missing := [own for own in NEEDED if not chosen[own]]:
        raise BadInput(f"{path}: has {quoted(', '.join(found)) or 'nothing'}, but no {missing[0]}; {EXPECTED}")
    return {own: name for own, name in chosen.items() if name}


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise BadInput(f"h5py cannot be imported ({error}); install it with: pip install 'qwop[minari]'") from None
    return h5py
