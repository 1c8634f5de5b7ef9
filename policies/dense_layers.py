"""Dense layers without autograd, into buffers that are kept from call to call, and the tanh of every network.

In networks as small as a policy's, autograd's bookkeeping and new memory for every result take as long as the
arithmetic. A loss is differentiated by autograd down to the layers' outputs, which are few numbers (`LeafGradients`).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..envs.engine import native

ROWS = 2048
"""Rows that are evaluated at a time, so that their activations stay in the processor's cache."""


WORTH_A_THREAD = 2**23
"""Rows times weights from which the first of several stacks is computed in a thread of its own."""


@cache
def _kernel() -> native.Call | None:
    """The engine's tanh of any two arrays; None where PyTorch's is faster."""
    return native.bind("tanh", *np.zeros((2, 1), dtype=np.float32)) if native.engine().width > 1 else None


def tanh_into(inputs: Tensor, out: Tensor) -> None:
    """Write tanh of `inputs` into `out`; two tensors without gaps, of one shape, that do not overlap.

    Acting, evaluating and learning use it alike, so that the probabilities of play are those of the file to the last
    bit.
    """
    call = _kernel() if inputs.device.type == "cpu" and inputs.dtype == torch.float32 else None
    if call is None:
        torch.tanh(inputs, out=out)
        return
    size = inputs.numel()  # a table for each call, because threads may call at once
    call.func(type(call.table)(inputs.data_ptr(), size, out.data_ptr(), size))


class Tanh(nn.Tanh):
    """tanh within 0.6 units in the last place of float32; on a CPU in a third of the time of PyTorch's."""

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


class DenseLayers:
    """Linear layers with tanh or ReLU between them, evaluated with the current weights of these modules.

    Call it in inference mode. Results are stored by column, [outputs, n], because softmax and sums over few actions are
    faster that way. The last layer may be several, side by side, whose outputs follow each other.
    """

    def __init__(self, layers: Sequence[nn.Module], beside: nn.Linear | None = None) -> None:
        *hidden, last = [one for one in layers if isinstance(one, nn.Linear)]
        heads = [last] if beside is None else [last, beside]
        self._weights: list[Tensor] = [one.weight for one in hidden]
        self._biases: list[Tensor] = [one.bias for one in hidden]
        self._head_weights: list[Tensor] = [one.weight for one in heads]
        self._head_biases: list[Tensor] = [one.bias for one in heads]
        self._tanh = any(isinstance(one, Tanh) for one in layers)
        self._factors: Sequence[Tensor] = ()
        self._transposed: list[Tensor] = []
        self._hidden: list[Tensor] = []
        self._most = 0
        self._inputs = self._last = self._room = torch.empty(0)

    @classmethod
    def of(cls, layers: Sequence[nn.Module], beside: nn.Linear | None = None) -> "DenseLayers | None":
        """These modules, if they are linear layers with tanh, or ReLU, after each but the last; else None. beside: a
        second last layer."""
        linear, between = {type(one) for one in layers[::2]}, {type(one) for one in layers[1::2]}
        fits = len(layers) % 2 == 1 and linear == {nn.Linear} and between in ({Tanh}, {nn.ReLU})
        return cls(layers, beside) if fits else None

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and biases, layer by layer."""
        weights, biases = self._weights + self._head_weights, self._biases + self._head_biases
        return [one for layer in zip(weights, biases, strict=True) for one in layer]

    def forward(self, inputs: Tensor, factors: Sequence[Tensor] = ()) -> Tensor:
        """Outputs [outputs, n] of the inputs [n, size]; they hold until the next call.

        factors: of each hidden layer's ReLU units, [n, width], such as 0 for those that are dropped out.
        """
        hidden, slopes = self._rows(len(inputs))
        self._inputs, self._factors, below = inputs, factors, inputs
        weights = self._transposed or [one.t() for one in self._weights]
        for layer, (weight, bias, here, before) in enumerate(zip(weights, self._biases, hidden, slopes, strict=True)):
            if self._tanh:
                tanh_into(torch.addmm(bias, below, weight, out=before), here)
            else:
                torch.addmm(bias, below, weight, out=here).clamp_min_(0.0)
            if factors:
                here.mul_(factors[layer])
            below = here
        self._last = _joined(self._head_weights)
        return torch.addmm(_joined(self._head_biases).unsqueeze(1), self._last, below.t())

    def hold(self) -> None:
        """Use the weights of the hidden layers as they are now until the next call, laid out for `forward`.

        With 32 rows it takes two thirds of the time.
        """
        if not self._transposed:
            self._transposed = [one.t().contiguous() for one in self._weights]
        torch._foreach_copy_(self._transposed, [one.t() for one in self._weights])

    def backward(self, gradient: Tensor, into: Sequence[Tensor]) -> None:
        """Write the gradients of `parameters` into tensors of their shapes.

        gradient: of the loss with respect to the result of the last `forward`, or to its first n columns: [outputs, n].
        """
        hidden, slopes = self._rows(gradient.shape[1])
        heads = into[2 * len(hidden) :]
        parts = gradient.split([len(one) for one in self._head_biases])
        for weight, bias, part in zip(heads[::2], heads[1::2], parts, strict=True):
            torch.mm(part, hidden[-1], out=weight)
            torch.sum(part, 1, out=bias)
        above, weights = gradient.t(), [*self._weights, self._last]
        for layer in range(len(hidden) - 1, -1, -1):
            here, below = hidden[layer], hidden[layer - 1] if layer else self._inputs[: len(above)]
            slope = torch.mm(above, weights[layer + 1], out=slopes[layer])
            if self._tanh:
                torch.ops.aten.tanh_backward.grad_input(slope, here, grad_input=here)
            else:
                torch.ops.aten.threshold_backward.grad_input(slope, here, 0, grad_input=here)
            if self._factors:
                here.mul_(self._factors[layer])
            torch.mm(here.t(), below, out=into[2 * layer])
            torch.sum(here, 0, out=into[2 * layer + 1])
            above = here

    def _rows(self, n: int) -> tuple[list[Tensor], list[Tensor]]:
        """The first n rows of the buffers: activations of each hidden layer, and room for gradients, of which only
        those of the newest layer hold."""
        widths = [len(one) for one in self._biases]
        if n > self._most:
            self._most, first = n, self._biases[0]
            self._hidden = [first.new_empty(n, width) for width in widths]
            self._room = first.new_empty(n * max(widths))
        return [one[:n] for one in self._hidden], [self._room[: n * width].view(n, width) for width in widths]


def _joined(heads: list[Tensor]) -> Tensor:
    return heads[0] if len(heads) == 1 else torch.cat(heads)


class LeafGradients:
    """Stacks of dense layers, whose gradients are the parts of one vector, stack by stack.

    `outputs`, a loss of them and its `backward()`, then `backward` here set the gradients of all parameters.
    """

    def __init__(self, stacks: Sequence[DenseLayers]) -> None:
        self.stacks = stacks
        parameters = [one for each in stacks for one in each.parameters]
        self._sizes = [sum(one.numel() for one in each.parameters) for each in stacks]
        self._vector = parameters[0].new_zeros(sum(self._sizes), requires_grad=False)
        parts = self._vector.split([one.numel() for one in parameters])
        views = (part.view_as(one) for part, one in zip(parts, parameters, strict=True))
        self._views = [list(islice(views, len(each.parameters))) for each in stacks]
        self._leaves: list[Tensor] = []
        # Otherwise MKL would start one thread per core from that thread.
        threads = (torch.get_num_threads(),)
        self._beside = ThreadPoolExecutor(1, "layers", initializer=torch.set_num_threads, initargs=threads)

    @classmethod
    def of(cls, *stacks: DenseLayers | None) -> "LeafGradients | None":
        """None if one of them is another network, or on a CUDA GPU, whose graphs spare the bookkeeping as well."""
        layers = [one for one in stacks if one is not None and not one.parameters[0].is_cuda]
        return cls(layers) if len(layers) == len(stacks) else None

    def outputs(self, *inputs: Tensor, factors: Sequence[Tensor] = (), learned: int | None = None) -> list[Tensor]:
        """Outputs [n, outputs] of each stack, of its inputs [n, size], for a loss of them.

        factors: as in `DenseLayers.forward`. learned: number of stacks, from the first one, that learn; None: all.
        """
        calls = [(each.forward, rows, factors) for each, rows in zip(self.stacks, inputs, strict=True)]
        # Copies, because autograd takes no tensors of inference mode, in which the layers are quicker.
        self._leaves = [one.clone() for one in self._all(calls)]
        for leaf in self._leaves[:learned]:
            leaf.requires_grad_()
        return [leaf.t() for leaf in self._leaves]

    def without_gradient(self, inputs: Tensor) -> Tensor:
        """Outputs [..., outputs] of the first stack, of inputs [..., size], evaluated `ROWS` at a time."""
        rows = inputs.reshape(-1, inputs.shape[-1]).split(ROWS)
        with torch.inference_mode():
            columns = torch.cat([self.stacks[0].forward(part) for part in rows], dim=1)
        return columns.clone().t().view(*inputs.shape[:-1], -1)

    def backward(self, rows: int | None = None) -> Tensor:
        """Set the gradients of the parameters, None in stacks that do not learn; return the others as one vector.

        rows: the first rows of the outputs, if the loss is of these alone.
        """
        slopes = [leaf.grad[:, :rows].contiguous() for leaf in self._leaves if leaf.grad is not None]
        learned = len(slopes)
        stacks = zip(self.stacks, slopes, self._views, strict=False)
        self._all([(each.backward, slope, views) for each, slope, views in stacks])
        for number, (each, views) in enumerate(zip(self.stacks, self._views, strict=True)):
            for parameter, view in zip(each.parameters, views, strict=True):
                parameter.grad = view if number < learned else None
        return self._vector[: sum(self._sizes[:learned])]

    @torch.inference_mode()
    def _all(self, calls: Sequence[tuple[Callable[..., Any], Tensor, Sequence[Tensor]]]) -> list[Any]:
        """Results of a call for each stack, from the first one on; the first runs beside others if it is large."""
        (function, rows, more), *others = calls
        if not others or max(rows.shape) * self._sizes[0] < WORTH_A_THREAD:
            return [function(rows, more) for function, rows, more in calls]
        first = self._beside.submit(torch.inference_mode()(function), rows, more)
        rest = [function(rows, more) for function, rows, more in others]
        return [first.result(), *rest]
