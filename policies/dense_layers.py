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
    """Linear layers with tanh or ReLU between them, and linear heads on the last one.

    They are evaluated with the weights of these modules, whatever they are now. Call it in inference mode. Results are
    stored by column, [outputs, n], because softmax and sums over few actions are faster that way.
    """

    def __init__(self, trunk: nn.Sequential, *heads: nn.Linear) -> None:
        layers = [one for one in trunk if isinstance(one, nn.Linear)]
        self._hidden = [(one.weight, one.bias) for one in layers]
        self._heads = [(one.weight, one.bias) for one in heads]
        self._tanh = any(isinstance(one, nn.Tanh) for one in trunk)
        self._rows = 0
        self._buffers: list[Tensor] = []
        self._views: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        self._inputs = torch.empty(0)

    @classmethod
    def of(cls, trunk: nn.Module, *heads: nn.Module) -> "DenseLayers | None":
        """The layers of a trunk and heads on it; None if they are of another kind (convolutions)."""
        linear = [one for one in heads if type(one) is nn.Linear]
        if type(trunk) not in (MLP, nn.Sequential) or len(linear) < len(heads):
            return None
        assert isinstance(trunk, nn.Sequential)
        kinds = {type(one) for one in trunk} - {nn.Linear}
        return cls(trunk, *linear) if kinds in ({nn.Tanh}, {nn.ReLU}) else None

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and biases, layer by layer, the heads' last."""
        return [one for layer in (*self._hidden, *self._heads) for one in layer]

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs [outputs, n] of the inputs [n, size], the heads' one after the other."""
        hidden, _ = self._views_of(len(inputs))
        self._inputs = below = inputs
        for (weight, bias), here in zip(self._hidden, hidden, strict=True):
            torch.addmm(bias, below, weight.t(), out=here)
            here.tanh_() if self._tanh else here.clamp_min_(0.0)
            below = here
        outputs = below.new_empty(sum(len(bias) for _, bias in self._heads), len(inputs))
        for (weight, bias), part in zip(self._heads, self._by_head(outputs), strict=True):
            torch.addmm(bias.unsqueeze(1), weight, below.t(), out=part)
        return outputs

    def values(self, inputs: Tensor) -> Tensor:
        """The single output [...] of inputs [..., size], evaluated `ROWS` at a time."""
        parts = inputs.reshape(-1, inputs.shape[-1]).split(ROWS)
        return torch.cat([self.forward(part).squeeze(0) for part in parts]).view(inputs.shape[:-1])

    def backward(self, gradient: Tensor, into: Sequence[Tensor], *, add: bool = False) -> None:
        """Write the gradients of `parameters` into tensors of their shapes, or add them there.

        gradient: of the loss with respect to the result of the last `forward`, [outputs, n].
        """
        hidden, slopes = self._views_of(gradient.shape[1])
        layers = list(zip(into[::2], into[1::2], strict=True))
        last = len(self._hidden)
        slope = slopes[-1]
        for number, ((weight, _), above) in enumerate(zip(self._heads, self._by_head(gradient), strict=True)):
            _put_gradients(above, hidden[-1], *layers[last + number], add=add)
            if number:
                slope.addmm_(above.t(), weight)
            else:
                torch.mm(above.t(), weight, out=slope)
        for number in range(last - 1, -1, -1):
            if self._tanh:
                torch.ops.aten.tanh_backward.grad_input(slope, hidden[number], grad_input=slope)
            else:
                torch.ops.aten.threshold_backward.grad_input(slope, hidden[number], 0.0, grad_input=slope)
            below = hidden[number - 1] if number else self._inputs
            _put_gradients(slope.t(), below, *layers[number], add=add)
            if number:
                slope = torch.mm(slope, self._hidden[number][0], out=slopes[number - 1])

    def __getstate__(self) -> dict[str, Any]:
        """Without the buffers, which hold nothing between calls."""
        return self.__dict__ | {"_rows": 0, "_buffers": [], "_views": {}, "_inputs": torch.empty(0)}

    def _by_head(self, outputs: Tensor) -> Sequence[Tensor]:
        return (outputs,) if len(self._heads) == 1 else outputs.split([len(bias) for _, bias in self._heads])

    def _views_of(self, n: int) -> tuple[list[Tensor], list[Tensor]]:
        """The first n rows of the buffers: activations of each hidden layer, and gradients of each."""
        if n > self._rows:
            self._rows, self._views = n, {}
            self._buffers = [bias.new_empty(n, len(bias)) for _ in range(2) for _, bias in self._hidden]
        if n not in self._views:
            views = [one[:n] for one in self._buffers]
            self._views[n] = (views[: len(self._hidden)], views[len(self._hidden) :])
        return self._views[n]


def _put_gradients(above: Tensor, below: Tensor, weight: Tensor, bias: Tensor, *, add: bool) -> None:
    """Gradients of a layer with the inputs `below` [n, inputs], from those of its outputs `above` [outputs, n]."""
    if add:
        weight.addmm_(above, below)
        bias.add_(above.sum(1))
    else:
        torch.mm(above, below, out=weight)
        torch.sum(above, 1, out=bias)
