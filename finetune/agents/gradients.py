"""Gradients of several parameters as views of one vector, which is clipped at once."""

from collections.abc import Sequence

import torch
from torch import Tensor


class GradientVector:
    """A vector with a view for each parameter, in their order."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        sizes = [one.numel() for one in parameters]
        self._parameters = list(parameters)
        self._vector = torch.zeros(sum(sizes), dtype=parameters[0].dtype, device=parameters[0].device)
        self.views = [part.view_as(one) for part, one in zip(self._vector.split(sizes), parameters, strict=True)]

    @torch.inference_mode()
    def clip(self, largest: float, chosen: slice = slice(None)) -> Tensor:
        """Scale the gradients of the chosen parameters, a range of them, down to this norm; return the norm before.

        They become the parameters' `grad`; the others have none.
        """
        sizes = [one.numel() for one in self._parameters]
        first, last, _ = chosen.indices(len(sizes))
        vector = self._vector[sum(sizes[:first]) : sum(sizes[:last])]
        norm: Tensor = vector.norm()
        vector.mul_((largest / (norm + 1e-6)).clamp_(max=1.0))
        for number, (parameter, view) in enumerate(zip(self._parameters, self.views, strict=True)):
            parameter.grad = view if first <= number < last else None
        return norm
