"""Dense layers without autograd: forward and backward passes into buffers that are kept from call to call.

In networks as small as a policy's, autograd's bookkeeping and new memory for every result take as long as the
arithmetic.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .encoders import MLP

ROWS = 2048
"""Rows that are evaluated at a time, so that their activations stay in the processor's cache."""


class DenseLayers:
    """Linear layers with tanh or ReLU between them, evaluated with the weights of these modules, whatever they are now.

    Call it in inference mode.
    Results are stored by column, [outputs, n], because softmax and sums over few actions are faster that way.
    """

    def __init__(self, trunk: MLP, head: nn.Linear) -> None:
        layers = [*(one for one in trunk if isinstance(one, nn.Linear)), head]
        self._weights = [one.weight for one in layers]
        self._biases = [one.bias for one in layers]
        self._tanh = any(isinstance(one, nn.Tanh) for one in trunk)
        self._rows = 0
        self._buffers: list[Tensor] = []
        self._views: dict[int, list[Tensor]] = {}
        self._inputs = torch.empty(0)

    @classmethod
    def of(cls, trunk: nn.Module, head: nn.Module) -> "DenseLayers | None":
        """The layers of a trunk and a head on it; None if they are of another kind (convolutions)."""
        if type(trunk) is not MLP or type(head) is not nn.Linear:
            return None
        kinds = {type(one) for one in trunk} - {nn.Linear}
        return cls(trunk, head) if kinds in ({nn.Tanh}, {nn.ReLU}) else None

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and biases, layer by layer."""
        return [one for layer in zip(self._weights, self._biases, strict=True) for one in layer]

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs [outputs, n] of the inputs [n, size]; they hold until the next call."""
        hidden = self._views_of(len(inputs))[: len(self._weights) - 1]
        self._inputs = below = inputs
        for weight, bias, here in zip(self._weights, self._biases, hidden, strict=False):
            torch.addmm(bias, below, weight.t(), out=here)
            here.tanh_() if self._tanh else here.clamp_min_(0.0)
            below = here
        return torch.addmm(self._biases[-1].unsqueeze(1), self._weights[-1], below.t())

    def values(self, inputs: Tensor) -> Tensor:
        """The single output [...] of inputs [..., size], evaluated `ROWS` at a time."""
        parts = inputs.reshape(-1, inputs.shape[-1]).split(ROWS)
        return torch.cat([self.forward(part).squeeze(0) for part in parts]).view(inputs.shape[:-1])

    def backward(self, gradient: Tensor, into: Sequence[Tensor], *, add: bool = False) -> None:
        """Write the gradients of `parameters` into tensors of their shapes, or add them there.

        gradient: of the loss with respect to the result of the last `forward`, [outputs, n].
        """
        views = self._views_of(gradient.shape[1])
        hidden, slopes = views[: len(self._weights) - 1], views[len(self._weights) - 1 :]
        above = gradient  # [width, n]
        for layer in range(len(self._weights) - 1, -1, -1):
            below = hidden[layer - 1] if layer else self._inputs
            weight, bias = into[2 * layer], into[2 * layer + 1]
            if add:
                weight.addmm_(above, below)
                bias.add_(above.sum(1))
            else:
                torch.mm(above, below, out=weight)
                torch.sum(above, 1, out=bias)
            if layer:
                slope = slopes[layer - 1]
                torch.mm(above.t(), self._weights[layer], out=slope)
                if self._tanh:
                    torch.ops.aten.tanh_backward.grad_input(slope, below, grad_input=slope)
                else:
                    torch.ops.aten.threshold_backward.grad_input(slope, below, 0.0, grad_input=slope)
                above = slope.t()

    def __getstate__(self) -> dict[str, Any]:
        """Without the buffers, which hold nothing between calls."""
        empty = {"_rows": 0, "_buffers": [], "_views": {}, "_inputs": torch.empty(0)}
        return self.__dict__ | empty

    def _views_of(self, n: int) -> list[Tensor]:
        """The first n rows of the buffers: activations of each hidden layer, then gradients of each."""
        if n > self._rows:
            self._rows, self._views = n, {}
            widths = [len(one) for one in self._biases[:-1]]
            self._buffers = [self._biases[0].new_empty(n, width) for width in (*widths, *widths)]
        if n not in self._views:
            self._views[n] = [one[:n] for one in self._buffers]
        return self._views[n]
