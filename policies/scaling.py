"""Scaling of observations to mean 0 and standard deviation 1."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ..envs.spec import Observations
from .devices import WEIGHTS

ROWS_AT_ONCE = 65_536
"""Rows that are held in float64 at a time."""

CONSTANT = 1e-6
"""Threshold below which a column's deviation, relative to its mean (or to 1), counts as 0: centred, not stretched."""


class ObservationScaler(nn.Module):
    """(x − mean) / std, column by column.

    The statistics are buffers, saved with the weights. They change only in `fit` and `take`: statistics that followed
    every batch would change π on replayed sequences, and with it all importance weights. Initially mean 0 and std 1,
    the identity.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size, dtype=WEIGHTS))
        self.register_buffer("std", torch.ones(size, dtype=WEIGHTS))

    def fit(self, observations: ArrayLike) -> Self:
        """Use the statistics of `observations` [n, size], computed in float64 so that a large mean does not cost
        precision."""
        rows = np.asarray(observations)
        mean = _summed(rows, lambda part: part) / len(rows)
        return self.take(mean, np.sqrt(_summed(rows, lambda part: np.square(part - mean)) / len(rows)))

    def take(self, mean: NDArray[np.float64], std: NDArray[np.float64]) -> Self:
        """Use these statistics, [size] each; a constant column is centred, not stretched."""
        stretch = np.where(std <= CONSTANT * np.maximum(1.0, np.abs(mean)), 1.0, std)
        self.mean.copy_(torch.from_numpy(mean))
        self.std.copy_(torch.from_numpy(stretch))
        return self

    @property
    def fitted(self) -> bool:
        """True once there are statistics."""
        return bool((self.mean != 0.0).any() or (self.std != 1.0).any())

    def forward(self, observations: Tensor) -> Tensor:
        return (observations - self.mean).div_(self.std)


class PixelScaler(nn.Module):
    """x / 255: bytes as numbers from 0 to 1. It has no statistics, so it always counts as fitted."""

    fitted = True

    def fit(self, observations: ArrayLike) -> Self:
        """Do nothing: the scale of bytes is known."""
        return self

    def forward(self, observations: Tensor) -> Tensor:
        return observations.to(WEIGHTS, copy=True).div_(255.0)  # in place, because pictures are large


def _summed(rows: Observations, function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Sum of a function of float64 rows, [size], added in order without a float64 copy of all rows."""
    total = np.zeros((1, *rows.shape[1:]))
    for first in range(0, len(rows), ROWS_AT_ONCE):
        part = function(rows[first : first + ROWS_AT_ONCE].astype(np.float64))
        total = np.concatenate([total, part]).sum(axis=0, keepdims=True)
    sums: NDArray[np.float64] = total[0]
    return sums


class RunningStatistics:
    """Mean and standard deviation of all observations added so far, in float64 (Chan et al. 1979)."""

    def __init__(self, size: int) -> None:
        self.count = 0
        """Observations so far."""
        self._mean = np.zeros(size)
        self._squares = np.zeros(size)

    def add(self, observations: ArrayLike) -> None:
        """Add observations [n, size]."""
        rows = np.asarray(observations)
        mean = rows.mean(axis=0, dtype=np.float64)
        squares = rows.var(axis=0, dtype=np.float64) * len(rows)
        total = self.count + len(rows)
        apart = mean - self._mean
        self._mean = self._mean + apart * (len(rows) / total)
        self._squares = self._squares + squares + apart**2 * (self.count * len(rows) / total)
        self.count = total

    def put_into(self, scaler: ObservationScaler) -> None:
        """Set the scaler to the current statistics."""
        scaler.take(self._mean, np.sqrt(self._squares / self.count))

    def get_state(self) -> dict[str, object]:
        return {"count": self.count, "mean": self._mean.copy(), "squares": self._squares.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        self.count = int(state["count"])
        self._mean = np.array(state["mean"], dtype=np.float64)
        self._squares = np.array(state["squares"], dtype=np.float64)
