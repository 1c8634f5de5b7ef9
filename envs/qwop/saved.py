"""Games under way as the decisions that led to them, from which they are played again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLUMNS = 256
"""Decisions of a game for which there is room at first."""


class Commands:
    """Decisions of n games under way, a byte each."""

    def __init__(self, count: int) -> None:
        self._bytes = np.zeros((count, COLUMNS), dtype=np.uint8)
        self._counts = np.zeros(count, dtype=np.int64)
        self._rows = np.arange(count)
        self._room = COLUMNS  # columns that every game has left, at least

    def add(self, values: NDArray[Any]) -> None:
        """Append a decision of each game, [n]; a game that begins in its place is cleared."""
        if not self._room:
            self._widen(int(self._counts.max()))
        self._bytes[self._rows, self._counts] = values
        self._counts += 1
        self._room -= 1

    def clear(self, mask: NDArray[np.bool_]) -> None:
        """Forget the games where `mask`, bool [n], is true."""
        self._counts[mask] = 0

    def of(self, row: int) -> NDArray[np.uint8]:
        """The decisions of a game, uint8 [k]."""
        return self._bytes[row, : self._counts[row]].copy()

    def put(self, row: int, values: NDArray[np.uint8]) -> None:
        """Replace the decisions of a game, uint8 [k]."""
        self._widen(len(values))
        self._bytes[row, : len(values)], self._counts[row] = values, len(values)
        self._room = self._bytes.shape[1] - int(self._counts.max())

    def _widen(self, longest: int) -> None:
        width = self._bytes.shape[1]
        while width <= longest:
            width *= 2
        self._bytes = np.pad(self._bytes, ((0, 0), (0, width - self._bytes.shape[1])))
        self._room = width - max(longest, int(self._counts.max()))


def in_step(commands: Sequence[NDArray[np.uint8]]) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[Any]]]:
    """Order in which to play games again side by side, so that all make their last decision together.

    For every step: the games that begin before it, those that make a decision in it, and the decisions, [n] each. In
    the last step none is made.
    """
    lengths = np.array([len(one) for one in commands])
    longest = int(lengths.max())
    padded = np.array([[*[0] * (longest - len(one)), *one] for one in commands], dtype=np.int64)
    begins, nothing = longest - lengths, np.zeros((len(lengths), 1), dtype=np.int64)
    steps = enumerate(np.hstack([padded, nothing]).T)
    return [(begins == step, (begins <= step) & (step < longest), decisions) for step, decisions in steps]
