"""The hyperbolic tangent of every network: on a CPU the engine's, which takes a third of the time of PyTorch's.

Acting, evaluating and learning use it alike, so that the probabilities of play are those of the file to the last bit.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..envs.engine import native


def bound_tanh(inputs: Tensor, out: Tensor) -> Callable[[], object]:
    """A call that writes tanh of `inputs` into `out`; two tensors without gaps, of one shape, that do not overlap."""
    if inputs.device.type == "cpu" and inputs.dtype == torch.float32 and native.engine().width > 1:
        return native.bind("tanh", *(one.detach().view(-1).numpy() for one in (inputs, out)))
    return lambda: torch.tanh(inputs, out=out)


class Tanh(nn.Tanh):
    """tanh, within 0.6 units in the last place of float32."""

    def forward(self, rows: Tensor) -> Tensor:
        if rows.device.type != "cpu" or rows.dtype != torch.float32:
            return torch.tanh(rows)
        if torch.is_grad_enabled() and rows.requires_grad:
            apply: Callable[[Tensor], Tensor] = _Tanh.apply  # typed by some versions of PyTorch alone
            return apply(rows)
        return _tanh(rows)


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        outputs = _tanh(rows)
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (outputs,) = ctx.saved_tensors
        slopes: Tensor = torch.ops.aten.tanh_backward(gradients[0], outputs)
        return slopes


def _tanh(rows: Tensor) -> Tensor:
    inputs = rows.contiguous()
    out = torch.empty_like(inputs)
    bound_tanh(inputs, out)()
    return out
