"""Checkpoints: the complete state of a run in one file, written atomically.

A checkpoint is a safetensors file with numbered tensors. Its metadata hold everything else as JSON, in which marked
objects refer to tensors, and a digest of the whole file. Loading one runs no code and takes no more memory than the
file's size.
"""

import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..common.errors import BadInput, quoted
from ..common.files import atomic_file
from ..common.reading import MEGABYTE, open_regular, parse_json
from ..policies.seal import require_whole, seal, with_room

NAME = re.compile(r"decisions-([0-9]+)\.checkpoint")

VERSION = 7
"""Version of the state in a checkpoint."""

KEPT = 2
"""Checkpoints of a run that stay, the newest ones: should one be damaged, the run can be resumed from the other."""

METADATA = "state"

LARGEST_HEADER = 32 * MEGABYTE
"""Largest size in bytes of everything in a checkpoint except the tensors."""

TENSOR, ARRAY, PAIRS, NUMBER = "__tensor__", "__array__", "__pairs__", "__number__"
"""Markers: a numbered tensor or array, a dict with keys that are not strings, a number that JSON lacks."""


def save_checkpoint(
    folder: Path, decisions: int, state: dict[str, Any], learning_rate: str = "algorithm.learning_rate"
) -> Path:
    """Write the state of a run after this many decisions; delete all but the newest `KEPT` checkpoints.

    `state` consists of nested dicts and lists of numbers, strings, tensors and arrays. Tensors that are not
    finite are refused with BadInput, which names the setting `learning_rate`, before anything is written or deleted.
    """
    path = folder / f"decisions-{decisions:012d}.checkpoint"
    tensors: dict[str, Tensor] = {}
    text = with_room(json.dumps({METADATA: _packed({**state, "version": VERSION}, tensors)}, allow_nan=False))
    if not _finite(tensors):
        raise BadInput(
            f"{path}: not written, because the run holds numbers that are not finite: training has diverged; "
            f"lower the learning rate ({learning_rate}) and start anew"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as partial, _system_errors():
        save_file(tensors, partial, metadata={METADATA: text})
        with partial.open("rb+") as file:
            seal(file)
    for old in checkpoints(folder)[:-KEPT]:
        old.unlink(missing_ok=True)
    return path


def is_finite(state: Any) -> bool:
    """True if a checkpoint can hold the state: every number of its tensors and arrays is finite."""
    tensors: dict[str, Tensor] = {}
    _packed(state, tensors)
    return _finite(tensors)


def _finite(tensors: dict[str, Tensor]) -> bool:
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors.values())


@contextmanager
def _system_errors() -> Iterator[None]:
    """Context manager: raise safetensors' system errors, such as a full disk, as OSError."""
    try:
        yield
    except SafetensorError as error:
        match = re.search(r"os error (\d+)", str(error))
        if match is None:
            raise
        raise OSError(int(match[1]), os.strerror(int(match[1]))) from None


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    entries = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in entries if NAME.fullmatch(path.name))


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Load the state that `save_checkpoint` wrote; BadInput for any other file."""
    try:
        with open_regular(path, None, "expected a checkpoint") as file:
            length, size = int.from_bytes(file.read(8), "little"), path.stat().st_size
            if not 0 < length <= min(LARGEST_HEADER, size - 8):
                raise ValueError(f"a header of {length:,} bytes in a file of {size:,}")
            require_whole(file)
        with safe_open(path, framework="pt") as checkpoint:
            tensors = {name: checkpoint.get_tensor(name) for name in checkpoint.keys()}  # noqa: SIM118 (not a dict)
            state: dict[str, Any] = _unpacked(parse_json(checkpoint.metadata()[METADATA])[METADATA], tensors)
        version = state.pop("version")
    except (SafetensorError, OSError, AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise BadInput(
            f"{path}: not a checkpoint, or a damaged one ({quoted(error, 200)}); remove it to resume from an older one"
        ) from None
    if version != VERSION:
        raise BadInput(f"{path}: written by another version of this program; resume with that one, or start anew")
    return state


def _packed(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Convert to plain data for JSON; tensors and arrays are collected in `tensors` and replaced by their numbers."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Tensor | np.ndarray):
        mark, name = ARRAY if isinstance(value, np.ndarray) else TENSOR, str(len(tensors))
        if isinstance(value, np.ndarray):
            value = torch.from_numpy(np.require(value, requirements=["C", "W"]))
        # A copy: safetensors refuses tensors that share their memory.
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {mark: name}
    if isinstance(value, dict):
        pairs = [(key, _packed(one, tensors)) for key, one in value.items()]
        plain = all(isinstance(key, str) and not key.startswith("__") for key in value)
        return dict(pairs) if plain else {PAIRS: pairs}
    if isinstance(value, list | tuple):
        return [_packed(one, tensors) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {NUMBER: str(value)}
    return value


def _unpacked(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, list):
        return [_unpacked(one, tensors) for one in value]
    if not isinstance(value, dict):
        return value
    content: Any
    mark, content = next(iter(value.items())) if len(value) == 1 else ("", None)
    if mark == TENSOR:
        return tensors[content]
    if mark == ARRAY:
        return tensors[content].numpy()
    if mark == NUMBER:
        return float(content)
    if mark == PAIRS:
        return {key: _unpacked(one, tensors) for key, one in content}
    return {key: _unpacked(one, tensors) for key, one in value.items()}
