"""From files of arrays: NumPy's `.npz`, and HDF5 of D4RL's form.

Both have a row for each decision, episode after episode: `observations`, `actions`, `rewards`, and where episodes end,
`terminations` and `truncations` (D4RL: `terminals`, `timeouts`). `next_observations` hold the observations after the
decisions; without them, `observations` may have a row more for each episode.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ...common.checks import quoted
from ...common.errors import BadInput, naming
from ...common.npz import array_names, read_arrays
from ...common.reading import MEGABYTE, open_regular, reason
from ..arrays import ArrayForm
from .hdf5 import foreign_hdf5
from .imported import Imported, Unknown
from .parts import imported, parts_of

LARGEST = 2048 * MEGABYTE
"""Bytes of a file and of its arrays, at most."""

NAMES = {
    "observations": ("observations", "observation", "obs"),
    "actions": ("actions", "action", "acts", "act"),
    "rewards": ("rewards", "reward", "rews", "rew"),
    "terminated": ("terminations", "terminated", "terminals", "terminal", "dones", "done"),
    "truncated": ("truncations", "truncated", "timeouts", "timeout", "dones", "done"),
    "following": ("next_observations", "next_obs", "obs_next"),
}
"""Names that the arrays of `parts_of` go by, the first being the one to give them. Beside the terminations, `dones`
have all endings."""

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
    with naming(path):
        chosen = _chosen(array_names(path, LARGEST, EXPECTED))
    arrays = read_arrays(path, [*chosen.values()], LARGEST, EXPECTED)
    return _imported(path, form, unknown, chosen, arrays)


def is_d4rl(path: Path) -> bool:
    """True for an HDF5 file with D4RL's arrays; d3rlpy's files name theirs otherwise. BadInput for no HDF5 file."""
    with open_regular(path, None, EXPECTED) as (file, _):
        try:
            mark = file.read(len(HDF5))
        except OSError as error:
            raise BadInput(f"{path}: {reason(error)}; {EXPECTED}") from None
    if mark != HDF5:
        raise BadInput(f"{path}: not an HDF5 file; {EXPECTED}")
    with foreign_hdf5(path, "h5py", EXPECTED) as file:
        return all(any(name in file for name in NAMES[needed]) for needed in NEEDED)


def read_hdf5(path: Path, unknown: Unknown) -> Imported:
    """Open an HDF5 file of arrays, whose environment has to be given; BadInput if h5py is not installed."""
    form = ArrayForm.of(unknown.environment)
    with foreign_hdf5(path, "h5py", EXPECTED) as file:
        chosen = _chosen([*file])
        size = sum(file.array(name).nbytes for name in chosen.values())
        if size > LARGEST:
            raise BadInput(f"arrays of {size / MEGABYTE:,.0f} MB, expected {LARGEST / MEGABYTE:,.0f} at most")
        arrays = {name: file.numbers(name) for name in chosen.values()}
    return _imported(path, form, unknown, chosen, arrays)


def _imported(
    path: Path, form: ArrayForm, unknown: Unknown, chosen: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]
) -> Imported:
    with naming(path):
        parts = parts_of(**{own: arrays[name] for own, name in chosen.items()})
    if chosen.get("truncated") in NAMES["terminated"]:
        parts = [part._replace(truncated=part.truncated and not part.terminated) for part in parts]
    return imported(parts, form, unknown, path)


def _chosen(found: list[str]) -> dict[str, str]:
    """The name in the file of each array that it has; BadInput if a needed one is missing."""
    chosen: dict[str, str] = {}
    for own, names in NAMES.items():
        chosen[own] = next((name for name in names if name in found and name not in chosen.values()), "")
    if missing := [own for own in NEEDED if not chosen[own]]:
        raise BadInput(f"has {quoted(', '.join(found)) or 'nothing'}, but no {missing[0]}; {EXPECTED}")
    return {own: name for own, name in chosen.items() if name}
