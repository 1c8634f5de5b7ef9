"""From observations to features: their scaling, and the layers that a network's heads share.

Encoders are an `nn.Sequential` with the width of their features, so that networks can be assembled from any kind.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ..common.errors import BadInput
from ..envs.spec import SMALLEST_PICTURE, ObservationSpec
from .devices import WEIGHTS
from .sizes import CONVOLUTIONS, NATURE

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
        mean = rows.mean(axis=0, dtype=np.float64)
        parts = (rows[first : first + ROWS_AT_ONCE] for first in range(0, len(rows), ROWS_AT_ONCE))
        squares: Any = sum(np.square(part - mean).sum(axis=0) for part in parts)
        return self.take(mean, np.sqrt(squares / len(rows)))

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


class Convolutions(nn.Sequential):
    """Convolutions of `CONVOLUTIONS`, each followed by a ReLU: [..., size] → [..., width].

    Pictures are flattened to rows of bytes, or of numbers from 0 to 1; the frames of a stack and their colours are the
    input's channels. 84 × 84 pixels give 3,136 features (nips: 2,592). Weights are orthogonal with gain √2, biases
    zero. Raises BadInput for pictures smaller than 36 × 36.
    """

    def __init__(
        self, observation: ObservationSpec, generator: torch.Generator | None = None, kind: str = NATURE
    ) -> None:
        layout = _Channels(observation)
        channels, height, width = layout.image
        if min(height, width) < SMALLEST_PICTURE:
            raise BadInput(
                f"observations {observation}: pictures of {height} × {width} pixels, but the convolutional network "
                f"needs at least {SMALLEST_PICTURE} × {SMALLEST_PICTURE}; enlarge them "
                "(gymnasium.wrappers.ResizeObservation), or give a table of numbers as float32"
            )
        layers: list[nn.Module] = [layout]
        for features, size, stride in CONVOLUTIONS[kind]:
            layer = _ByteConvolution(channels, features, size, stride, dtype=WEIGHTS)
            nn.init.orthogonal_(layer.weight, math.sqrt(2), generator)
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
            layers += [layer, nn.ReLU()]
            channels, height, width = features, (height - size) // stride + 1, (width - size) // stride + 1
        super().__init__(*layers, nn.Flatten())
        self.width = channels * height * width

    def forward(self, pictures: Tensor) -> Tensor:
        rows: Tensor = super().forward(pictures.reshape(-1, pictures.shape[-1]))  # type: ignore[no-untyped-call]
        return rows.reshape(*pictures.shape[:-1], self.width)


class MLP(nn.Sequential):
    """Linear layers, each followed by an activation: [..., size] → [..., width].

    Weights are orthogonal with gain √2, biases zero. Without hidden layers, the features are the inputs.
    """

    def __init__(
        self,
        inputs: int | ObservationSpec,
        hidden: Sequence[int],
        activation: Callable[[], nn.Module],
        generator: torch.Generator | None = None,
        convolutions: str = NATURE,
    ) -> None:
        """inputs: their number, or scaled observations, in rows: for images these `convolutions` come first."""
        layers: list[nn.Module] = []
        size = inputs if isinstance(inputs, int) else inputs.size
        if isinstance(inputs, ObservationSpec) and inputs.is_image:
            first = Convolutions(inputs, generator, convolutions)
            layers, size = [first], first.width
        for width in hidden:
            layers += [orthogonal_linear(size, width, math.sqrt(2), generator), activation()]
            size = width
        super().__init__(*layers)
        self.width = size


class _Channels(nn.Module):
    """Rows [n, size] as images [n, channels, height, width], the channels innermost in memory, because convolutions
    are faster that way on a CPU."""

    def __init__(self, observation: ObservationSpec) -> None:
        super().__init__()
        channels, height, width = observation.axes
        self._shape = observation.shape
        self._order = [0, *(1 + axis for axis in (*channels, height, width))]
        self.image = (observation.channels, observation.shape[height], observation.shape[width])

    def forward(self, rows: Tensor) -> Tensor:
        images = rows.reshape(-1, *self._shape).permute(self._order).reshape(-1, *self.image)
        return images.contiguous(memory_format=torch.channels_last)


class _ByteConvolution(nn.Conv2d):
    """A convolution that takes bytes x as x / 255. It divides its weights instead, which are far fewer."""

    def forward(self, images: Tensor) -> Tensor:
        if images.dtype != torch.uint8:
            return super().forward(images)
        device = images.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else self.weight.dtype
        features: Tensor = self._conv_forward(images.to(dtype), self.weight / 255.0, self.bias)
        return features


def orthogonal_linear(inputs: int, outputs: int, gain: float, generator: torch.Generator | None) -> nn.Linear:
    """A linear layer with an orthogonal weight matrix of this gain, and biases of zero."""
    layer = nn.Linear(inputs, outputs, dtype=WEIGHTS)
    nn.init.orthogonal_(layer.weight, gain, generator)
    nn.init.zeros_(layer.bias)
    return layer


def relu_layers(widths: Sequence[int], generator: torch.Generator | None, layer_norm: bool) -> nn.Sequential:
    """Linear, layer norm (or none) and ReLU for each width but the last, which is linear alone; Xavier weights, biases
    zero."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        linear = nn.Linear(inputs, outputs, dtype=WEIGHTS)
        nn.init.xavier_uniform_(linear.weight, generator=generator)
        nn.init.zeros_(linear.bias)
        layers += [linear, *([nn.LayerNorm(outputs, dtype=WEIGHTS)] if layer_norm else []), nn.ReLU()]
    return nn.Sequential(*layers[: -2 if layer_norm else -1])
