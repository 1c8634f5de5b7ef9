"""Encoders: the layers from scaled observations to the features that a network's heads share.

Each is an `nn.Sequential` that knows the width of its features, so that networks are put together without knowing its
kind.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn


class MLP(nn.Sequential):
    """Linear layers, each followed by an activation: [..., size] → [..., width].

    Weights are orthogonal with gain √2, biases zero. Without hidden layers, the features are the observations.
    """

    def __init__(
        self,
        size: int,
        hidden: Sequence[int],
        activation: Callable[[], nn.Module],
        generator: torch.Generator | None = None,
    ) -> None:
        widths = (size, *hidden)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [orthogonal_linear(inputs, outputs, math.sqrt(2), generator), activation()]
        super().__init__(*layers)
        self.width = widths[-1]


def orthogonal_linear(inputs: int, outputs: int, gain: float, generator: torch.Generator | None) -> nn.Linear:
    """A linear layer with an orthogonal weight matrix of this gain, and biases of zero."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain, generator)
    nn.init.zeros_(layer.bias)
    return layer


def normed_layers(widths: Sequence[int], generator: torch.Generator | None) -> nn.Sequential:
    """Linear, layer norm and ReLU for each width but the last, which is linear alone; Xavier weights, biases zero."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        linear = nn.Linear(inputs, outputs)
        nn.init.xavier_uniform_(linear.weight, generator=generator)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.LayerNorm(outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-2])
