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
    With `low`, the products of the hidden layers are those of bfloat16, forwards and backwards; the last layer, sums
    and results are not.
    """

    def __init__(self, trunk: MLP, head: nn.Linear, low: bool = False) -> None:
        layers = [*(one for one in trunk if isinstance(one, nn.Linear)), head]
        self._weights = [one.weight for one in layers]
        self._biases = [one.bias for one in layers]
        self._tanh = any(isinstance(one, nn.Tanh) for one in trunk)
        self._low = low
        self._forget()

    @classmethod
    def of(cls, trunk: nn.Module, head: nn.Module, low: bool = False) -> "DenseLayers | None":
        """The layers of a trunk and a head on it; None if they are of another kind (convolutions)."""
        if type(trunk) is not MLP or type(head) is not nn.Linear:
            return None
        kinds = {type(one) for one in trunk} - {nn.Linear}
        return cls(trunk, head, low) if kinds in ({nn.Tanh}, {nn.ReLU}) else None

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and biases, layer by layer."""
        return [one for layer in zip(self._weights, self._biases, strict=True) for one in layer]

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs [outputs, n] of the inputs [n, size]; they hold until the next call."""
        hidden, _, precise = self._views_of(len(inputs))
        if self._low:
            torch._foreach_copy_(self._low_weights, self._weights[:-1])
            torch._foreach_copy_(self._low_biases, self._biases[:-1])
            inputs = inputs.bfloat16()
        self._inputs = below = inputs
        for weight, bias, here, wide in zip(self._low_weights, self._low_biases, hidden, precise, strict=True):
            torch.addmm(bias, below, weight.t(), out=here)
            if not self._low:
                here.tanh_() if self._tanh else here.clamp_min_(0.0)
            elif self._tanh:
                here.copy_(wide.copy_(here).tanh_())  # tanh of bfloat16 takes five times as long
            else:
                here.view(torch.int16).clamp_min_(0)  # has the same sign bit, takes a fifth of the time
            below = here
        if self._low and not self._tanh:
            precise[-1].copy_(below)
        return torch.addmm(self._biases[-1].unsqueeze(1), self._weights[-1], precise[-1].t())

    def values(self, inputs: Tensor) -> Tensor:
        """The single output [...] of inputs [..., size], evaluated `ROWS` at a time."""
        parts = inputs.reshape(-1, inputs.shape[-1]).split(ROWS)
        return torch.cat([self.forward(part).squeeze(0) for part in parts]).view(inputs.shape[:-1])

    def backward(self, gradient: Tensor, into: Sequence[Tensor]) -> None:
        """Write the gradients of `parameters` into tensors of their shapes.

        gradient: of the loss with respect to the result of the last `forward`, [outputs, n].
        """
        hidden, slopes, precise = self._views_of(gradient.shape[1])
        torch.mm(gradient, precise[-1], out=into[-2])
        torch.sum(gradient, 1, out=into[-1])
        above = gradient.t()
        weights = [*self._low_weights, self._weights[-1]]
        if self._low:
            above, weights[-1] = above.bfloat16(), weights[-1].bfloat16()
        for layer in range(len(hidden) - 1, -1, -1):
            slope, below = slopes[layer], hidden[layer - 1] if layer else self._inputs
            torch.mm(above, weights[layer + 1], out=slope)
            self._through(slope, hidden[layer])
            if self._low:
                into[2 * layer].copy_(torch.mm(slope.t(), below))
                into[2 * layer + 1].copy_(torch.sum(slope, 0))
            else:
                torch.mm(slope.t(), below, out=into[2 * layer])
                torch.sum(slope, 0, out=into[2 * layer + 1])
            above = slope

    def __getstate__(self) -> dict[str, Any]:
        """Without the buffers, which hold nothing between calls."""
        return {name: self.__dict__[name] for name in ("_weights", "_biases", "_tanh", "_low")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def _forget(self) -> None:
        """Drop the buffers."""
        self._rows = 0
        self._buffers: list[Tensor] = []
        self._widths: list[int] = []
        self._views: dict[int, tuple[list[Tensor], list[Tensor], list[Tensor]]] = {}
        self._inputs = torch.empty(0)
        self._low_weights, self._low_biases = (
            [torch.empty_like(one, dtype=torch.bfloat16) if self._low else one for one in every[:-1]]
            for every in (self._weights, self._biases)
        )

    def _through(self, slope: Tensor, here: Tensor) -> None:
        """Turn gradients with respect to the activations `here` into those with respect to what they are of."""
        if self._tanh:
            torch.ops.aten.tanh_backward.grad_input(slope, here, grad_input=slope)
        else:
            if self._low:
                slope, here = slope.view(torch.int16), here.view(torch.int16)
            torch.ops.aten.threshold_backward.grad_input(slope, here, 0, grad_input=slope)

    def _views_of(self, n: int) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """The first n rows of the buffers: activations of each hidden layer, gradients of each, and the activations in
        full precision, of which those of the last layer hold."""
        if n > self._rows:
            self._rows, self._views = n, {}
            self._widths = [len(one) for one in self._low_biases]
            whole = [one.new_empty(n * len(one)) for one in (*self._low_biases, *self._low_biases)]
            self._buffers = [*whole, self._biases[0].new_empty(n * max(self._widths) if self._low else 0)]
        if n not in self._views:
            *halves, wide = self._buffers
            views = [one[: n * width].view(n, width) for one, width in zip(halves, 2 * self._widths, strict=True)]
            hidden, slopes = views[: len(self._widths)], views[len(self._widths) :]
            precise = [wide[: n * width].view(n, width) for width in self._widths] if self._low else hidden
            self._views[n] = hidden, slopes, precise
        return self._views[n]
