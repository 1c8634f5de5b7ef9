"""Checkpoints: the complete state of a run in one file, written completely or not at all."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..common.errors import BadInput
from ..common.files import write_whole

NAME = re.compile(r"decisions-(\d+)\.pt")

VERSION = 3
"""Of the state in a checkpoint; a run is resumed by the version that began it."""


def save_checkpoint(folder: Path, decisions: int, state: dict[str, Any], keep: int = 2) -> Path:
    """Write the state of a run after so many decisions; delete all but the newest `keep` checkpoints.

    `state` consists of nested dicts and lists of numbers, strings, tensors and arrays.
    """
    path = folder / f"decisions-{decisions:012d}.pt"
    write_whole(path, lambda file: torch.save(_packed({**state, "version": VERSION}), file))
    for old in checkpoints(folder)[:-keep]:
        old.unlink(missing_ok=True)
    return path


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in found if NAME.fullmatch(path.name))


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Load the state that `save_checkpoint` wrote; BadInput for any other file. Runs no code of the file."""
    try:
        state = _unpacked(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # torch raises whatever the broken byte leads to
        raise BadInput(
            f"{path}: not a checkpoint of this program ({type(error).__name__}); remove it to resume from an older one"
        ) from None
    if not isinstance(state, dict) or state.pop("version", 1) != VERSION:
        raise BadInput(f"{path}: written by another version of this program; resume with that one, or start anew")
    return state


def _packed(value: Any) -> Any:
    """Replace arrays by marked tensors, because `weights_only` loading refuses arrays."""
    if isinstance(value, np.ndarray):
        return {"__array__": torch.from_numpy(np.ascontiguousarray(value))}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _packed(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(one) for one in value]
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"__array__"}:
            return value["__array__"].numpy()
        return {key: _unpacked(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_unpacked(one) for one in value]
    return value
