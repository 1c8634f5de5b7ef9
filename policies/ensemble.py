"""Layers of an ensemble: members with the same structure and separate weights, computed together."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


class MemberLinear(nn.Module):
    """A linear layer for each member, [M, rows, inputs] → [M, rows, outputs]; Xavier weights, biases zero."""

    def __init__(self, members: int, inputs: int, outputs: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(members, 1, outputs))
        for weight in self.weight:
            nn.init.xavier_uniform_(weight, generator=generator)

    def forward(self, rows: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, rows, self.weight)


class MemberNorm(nn.Module):
    """Layer normalisation with a gain and a shift for each member, [M, rows, size]."""

    def __init__(self, members: int, size: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(members, 1, size))
        self.shift = nn.Parameter(torch.zeros(members, 1, size))

    def forward(self, rows: Tensor) -> Tensor:
        normed = nn.functional.layer_norm(rows, rows.shape[-1:])
        return torch.addcmul(self.shift, normed, self.gain)


class Ensemble(nn.Sequential):
    """Linear, layer norm and ReLU for each width but the last, which is linear alone: [..., size] → [M, ..., width]."""

    def __init__(self, members: int, widths: Sequence[int], generator: torch.Generator | None = None) -> None:
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [MemberLinear(members, inputs, outputs, generator), MemberNorm(members, outputs), nn.ReLU()]
        super().__init__(*layers[:-2])
        self.members = members

    def forward(self, rows: Tensor) -> Tensor:
        flat = rows.reshape(-1, rows.shape[-1])
        outputs: Tensor = super().forward(flat.expand(self.members, *flat.shape))  # type: ignore[no-untyped-call]
        return outputs.view(self.members, *rows.shape[:-1], -1)
