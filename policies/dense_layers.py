"""Dense layers without autograd: forward and backward passes into buffers that are kept from call to call.

In networks as small as a policy's, autograd's bookkeeping and new memory for every result take as long as the
arithmetic. A loss is differentiated by autograd down to the layers' outputs, which are few numbers (`LeafGradients`).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .tanh import Tanh, tanh_into

ROWS = 2048
"""Rows that are evaluated at a time, so that their activations stay in the processor's cache."""


WORTH_A_THREAD = 2**23
"""Rows times weights from which the first of several stacks is computed in a thread of its own."""


class Views(NamedTuple):
    """Some rows of the buffers: activations of each hidden layer; the same in full precision, of which those of the
    last layer hold; gradients of each, none of which hold."""

    hidden: list[Tensor]
    precise: list[Tensor]
    slopes: list[Tensor]


class DenseLayers:
    """Linear layers with tanh or ReLU between them, evaluated with the current weights of these modules.

    Call it in inference mode. Results are stored by column, [outputs, n], because softmax and sums over few actions are
    faster that way. The last layer may be several, side by side, whose outputs follow each other. With `low`, the
    products of the hidden layers are those of bfloat16, forwards and backwards; the last layer, sums and results are
    not.
    """

    def __init__(self, layers: Sequence[nn.Module], low: bool = False, beside: nn.Linear | None = None) -> None:
        *hidden, last = [one for one in layers if isinstance(one, nn.Linear)]
        heads = [last] if beside is None else [last, beside]
        self._hidden_weights: list[Tensor] = [one.weight for one in hidden]
        self._hidden_biases: list[Tensor] = [one.bias for one in hidden]
        self._head_weights: list[Tensor] = [one.weight for one in heads]
        self._head_biases: list[Tensor] = [one.bias for one in heads]
        self._factors: Sequence[Tensor] = ()
        self._tanh = any(isinstance(one, Tanh) for one in layers)
        self._low = low
        self._transposed: list[Tensor] = []
        self._rows = 0
        self._buffers: list[Tensor] = []
        self._widths = [len(one) for one in self._hidden_biases]
        self._views: dict[int, Views] = {}
        self._inputs = self._last = torch.empty(0)
        self._low_weights, self._low_biases = map(self._lowered, (self._hidden_weights, self._hidden_biases))

    @classmethod
    def of(
        cls, layers: Sequence[nn.Module], low: bool = False, beside: nn.Linear | None = None
    ) -> "DenseLayers | None":
        """These modules, if they are linear layers with tanh, or ReLU, after each but the last; else None. beside: a
        second last layer."""
        linear, between = {type(one) for one in layers[::2]}, {type(one) for one in layers[1::2]}
        fits = len(layers) % 2 == 1 and linear == {nn.Linear} and between in ({Tanh}, {nn.ReLU})
        return cls(layers, low, beside) if fits else None

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and biases, layer by layer."""
        weights, biases = self._hidden_weights + self._head_weights, self._hidden_biases + self._head_biases
        return [one for layer in zip(weights, biases, strict=True) for one in layer]

    def forward(self, inputs: Tensor, factors: Sequence[Tensor] = ()) -> Tensor:
        """Outputs [outputs, n] of the inputs [n, size]; they hold until the next call.

        factors: of each hidden layer's ReLU units, [n, width], such as 0 for those that are dropped out.
        """
        hidden, precise, slopes = self._views_of(len(inputs))
        self._factors = factors
        if self._low:
            torch._foreach_copy_(self._low_weights, self._hidden_weights)
            torch._foreach_copy_(self._low_biases, self._hidden_biases)
            inputs = inputs.bfloat16()
        self._inputs = below = inputs
        weights = self._transposed or [one.t() for one in self._low_weights]
        layers = zip(weights, self._low_biases, hidden, precise, strict=True)
        for layer, (weight, bias, here, wide) in enumerate(layers):
            curved = self._tanh and not self._low
            torch.addmm(bias, below, weight, out=slopes[layer] if curved else here)
            if curved:
                tanh_into(slopes[layer], here)
            elif not self._low:
                here.clamp_min_(0.0)
            elif self._tanh:
                here.copy_(wide.copy_(here).tanh_())  # tanh of bfloat16 takes five times as long
            else:
                here.view(torch.int16).clamp_min_(0)  # has the same sign bit, takes a fifth of the time
            if factors:
                here.mul_(factors[layer])
            below = here
        if self._low and not self._tanh:
            precise[-1].copy_(below)
        self._last = _joined(self._head_weights)
        return torch.addmm(_joined(self._head_biases).unsqueeze(1), self._last, precise[-1].t())

    def hold(self) -> None:
        """Use the weights of the hidden layers as they are now until the next call, laid out for `forward`.

        With 32 rows it takes two thirds of the time. Not with `low`.
        """
        if not self._transposed:
            self._transposed = [one.t().contiguous() for one in self._hidden_weights]
        torch._foreach_copy_(self._transposed, [one.t() for one in self._hidden_weights])

    def backward(self, gradient: Tensor, into: Sequence[Tensor]) -> None:
        """Write the gradients of `parameters` into tensors of their shapes.

        gradient: of the loss with respect to the result of the last `forward`, or to its first n columns: [outputs, n].
        """
        hidden, precise, slopes = self._views_of(gradient.shape[1])
        heads = into[2 * len(hidden) :]
        parts = gradient.split([len(one) for one in self._head_biases])
        for weight, bias, part in zip(heads[::2], heads[1::2], parts, strict=True):
            torch.mm(part, precise[-1], out=weight)
            torch.sum(part, 1, out=bias)
        above = gradient.t()
        weights = [*self._low_weights, self._last]
        if self._low:
            above, weights[-1] = above.bfloat16(), weights[-1].bfloat16()
        for layer in range(len(hidden) - 1, -1, -1):
            here, below = hidden[layer], hidden[layer - 1] if layer else self._inputs[: len(above)]
            self._through(torch.mm(above, weights[layer + 1], out=slopes[layer]), here)
            if self._factors:
                here.mul_(self._factors[layer])
            if self._low:
                into[2 * layer].copy_(torch.mm(here.t(), below))
                into[2 * layer + 1].copy_(torch.sum(here, 0))
            else:
                torch.mm(here.t(), below, out=into[2 * layer])
                torch.sum(here, 0, out=into[2 * layer + 1])
            above = here

    def _lowered(self, every: list[Tensor]) -> list[Tensor]:
        """The tensors or, with `low`, memory for them in bfloat16."""
        return [torch.empty_like(one, dtype=torch.bfloat16) for one in every] if self._low else every

    def _through(self, slope: Tensor, here: Tensor) -> None:
        """Replace the activations `here` by the gradients with respect to what they are of. slope: the gradients with
        respect to them."""
        if self._tanh:
            torch.ops.aten.tanh_backward.grad_input(slope, here, grad_input=here)
        else:
            if self._low:
                slope, here = slope.view(torch.int16), here.view(torch.int16)
            torch.ops.aten.threshold_backward.grad_input(slope, here, 0, grad_input=here)

    def _views_of(self, n: int) -> "Views":
        """The first n rows of the buffers."""
        if n > self._rows:
            self._rows, self._views = n, {}
            one, wide, most = self._low_biases[0], self._head_biases[0], max(self._widths)
            halves = [one.new_empty(n * width) for width in (*self._widths, most)]
            self._buffers = [*halves, wide.new_empty(n * most if self._low else 0)]
        if n not in self._views:
            *halves, slope, wide = self._buffers

            def views(buffers: list[Tensor]) -> list[Tensor]:
                return [one[: n * width].view(n, width) for one, width in zip(buffers, self._widths, strict=True)]

            hidden, slopes = views(halves), views([slope] * len(halves))
            precise = views([wide] * len(halves)) if self._low else hidden
            self._views[n] = Views(hidden, precise, slopes)
        return self._views[n]


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
