"""Losses of dense layers: autograd differentiates a loss down to the layers' outputs, `DenseLayers` the layers below.

In networks as small as a policy's the outputs are few numbers; autograd's bookkeeping is spent on the loss alone.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from .dense_layers import DenseLayers

WORTH_A_THREAD = 2**23
"""Rows times weights from which the first of several stacks is computed in a thread of its own."""


def as_one_vector(parameters: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """A vector of zeros for the gradients of all these parameters, and its parts in their shapes."""
    sizes = [one.numel() for one in parameters]
    vector = parameters[0].new_zeros(sum(sizes), requires_grad=False)
    return vector, [part.view_as(one) for part, one in zip(vector.split(sizes), parameters, strict=True)]


class LeafGradients:
    """Stacks of dense layers, whose gradients are the parts of one vector, stack by stack.

    `outputs`, a loss of them and its `backward()`, then `backward` here set the gradients of all parameters.
    """

    def __init__(self, stacks: Sequence[DenseLayers]) -> None:
        self.stacks = stacks
        self.parameters = [one for each in stacks for one in each.parameters]
        self._vector, views = as_one_vector(self.parameters)
        self._sizes = [sum(one.numel() for one in each.parameters) for each in stacks]
        self._views: list[list[Tensor]] = []
        for each in stacks:
            count = len(each.parameters)
            self._views.append(views[:count])
            views = views[count:]
        self._leaves: list[Tensor] = []
        # Otherwise MKL would start one thread per core from that thread.
        threads = (torch.get_num_threads(),)
        self._beside = ThreadPoolExecutor(1, "layers", initializer=torch.set_num_threads, initargs=threads)

    @classmethod
    def of(cls, *stacks: DenseLayers | None) -> "LeafGradients | None":
        """None if one of them is another network, or on a CUDA GPU, whose graphs spare the bookkeeping as well."""
        found = [one for one in stacks if one is not None and not one.parameters[0].is_cuda]
        return cls(found) if len(found) == len(stacks) else None

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

    def values(self, inputs: Tensor) -> Tensor:
        """The single output [...] of the first stack, of inputs [..., size], without gradient."""
        with torch.inference_mode():
            found = self.stacks[0].values(inputs)
        return found.clone()

    def without_gradient(self, inputs: Tensor) -> Tensor:
        """Outputs [n, outputs] of the first stack."""
        with torch.inference_mode():
            found = self.stacks[0].forward(inputs)
        return found.clone().t()

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
