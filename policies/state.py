"""The state of recurrent policies: one row for each game, as tensors in a network and as arrays outside.

A memoryless policy's state is the empty tuple, which all of these functions pass through.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

State = tuple[Tensor, ...]
"""Tensors [n, ...]; row i is the memory of game i."""

StateArray = NDArray[np.float32 | np.int64]
ArrayState = tuple[StateArray, ...]
"""The same as arrays on the CPU, for rollouts, collectors and checkpoints."""

Rows = slice | NDArray[np.int64] | NDArray[np.bool_]
"""Games, by a slice, by number, or by a mask."""

Part = TypeVar("Part", Tensor, StateArray)


def reset_rows(state: tuple[Part, ...], initial: tuple[Part, ...], begins: NDArray[np.bool_]) -> tuple[Part, ...]:
    """The state with the rows of `initial` where an episode begins, bool [n]. Gradients pass through both."""
    return tuple(_where(begins, first, part) for part, first in zip(state, initial, strict=True))


def select_rows(state: tuple[Part, ...], rows: Rows) -> tuple[Part, ...]:
    """The rows of a slice, of numbers int [m] or of a mask bool [n]."""
    return tuple(part[rows] for part in state)


def put_rows(state: ArrayState, rows: Rows, values: ArrayState) -> ArrayState:
    """A copy of the state with `values` in these rows: the inverse of `select_rows`."""
    copies = tuple(part.copy() for part in state)
    for copy, value in zip(copies, values, strict=True):
        copy[rows] = value
    return copies


def concatenate_rows(states: Sequence[ArrayState]) -> ArrayState:
    """The rows of several states, at least one, in order."""
    return tuple(np.concatenate(parts) for parts in zip(*states, strict=True))


def to_tensors(state: ArrayState, device: torch.device | None = None) -> State:
    """A copy for a network on this device."""
    return tuple(torch.tensor(part, device=device) for part in state)


def to_arrays(state: State) -> ArrayState:
    """A copy on the CPU, without gradients."""
    return tuple(part.detach().cpu().numpy().copy() for part in state)


def _where(rows: NDArray[np.bool_], part: Part, other: Part) -> Part:
    mask = rows.reshape(-1, *[1] * (other.ndim - 1))
    if isinstance(other, Tensor):
        return torch.where(torch.from_numpy(mask).to(other.device), part, other)
    return np.where(mask, part, other)
