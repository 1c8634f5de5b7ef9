"""Observations brought to mean 0 and standard deviation 1, with statistics that never move by themselves."""

from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

CONSTANT = 1e-6
"""A column whose deviation is below this share of its size (or of 1) is constant: it is centred, not stretched."""


class ObservationScaler(nn.Module):
    """(x − mean) / std, column by column.

    The statistics are buffers, saved with the weights and frozen for a run: statistics that keep running would change
    π on replayed sequences, and with it every importance weight. As built, it changes nothing (mean 0, std 1).
    """

    mean: Tensor
    std: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("std", torch.ones(size))

    def fit(self, observations: ArrayLike) -> Self:
        """Take the statistics of `observations` [n, size]; in float64, so that a far offset costs no digits."""
        rows = np.asarray(observations, dtype=np.float64)
        mean, std = rows.mean(axis=0), rows.std(axis=0)
        std[std <= CONSTANT * np.maximum(1.0, np.abs(mean))] = 1.0
        self.mean.copy_(torch.from_numpy(mean))
        self.std.copy_(torch.from_numpy(std))
        return self

    def forward(self, observations: Tensor) -> Tensor:
        return (observations - self.mean) / self.std
