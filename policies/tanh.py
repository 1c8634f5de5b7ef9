"""The hyperbolic tangent of every network: on a CPU the engine's, which takes a third of the time of PyTorch's.

Acting, evaluating and learning use it alike, so that the probabilities of play are those of the file to the last bit.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..envs.engine import native


@cache
def _kernel() -> native.Call | None:
    """The engine's tanh of any two arrays; None where PyTorch's is faster."""
    return native.bind("tanh", *np.zeros((2, 1), dtype=np.float32)) if native.engine().width > 1 else None


def tanh_into(inputs: Tensor, out: Tensor) -> None:
    """Write tanh of `inputs` into `out`; two tensors without gaps, of one shape, that do not overlap."""
    call = _kernel() if inputs.device.type == "cpu" and inputs.dtype == torch.float32 else None
    if call is None:
        torch.tanh(inputs, out=out)
        return
    size = inputs.numel()  # a table for each call, because threads may call at once
    call.func(type(call.table)(inputs.data_ptr(), size, out.data_ptr(), size))


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
    tanh_into(inputs, out)
    return out
