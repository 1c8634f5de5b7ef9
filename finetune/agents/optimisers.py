"""RMSProp as in TensorFlow 1, and as published with DQN; a step with clipped gradients."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class RMSpropTF(Optimizer):
    """ms ← d·ms + (1 − d)·g²;  θ ← θ − lr·g/√(ms + ε), with ms = 1 at the start.

    PyTorch's RMSprop has ε outside the root and starts from ms = 0, which makes its first steps up to a hundred times
    longer. Defaults are those of ACER in stable-baselines.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 7e-4, decay: float = 0.99, epsilon: float = 1e-5) -> None:
        super().__init__(params, {"lr": lr, "decay": decay, "epsilon": epsilon})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step; parameters without a gradient stay as they are."""
        assert closure is None
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not parameters:
                continue
            gradients = [parameter.grad for parameter in parameters]
            for parameter in parameters:
                if not self.state[parameter]:
                    self.state[parameter]["mean_square"] = torch.ones_like(parameter)
            mean_squares = [self.state[parameter]["mean_square"] for parameter in parameters]
            torch._foreach_mul_(mean_squares, group["decay"])
            torch._foreach_addcmul_(mean_squares, gradients, gradients, 1.0 - group["decay"])
            roots = torch._foreach_add(mean_squares, group["epsilon"])
            torch._foreach_sqrt_(roots)
            torch._foreach_addcdiv_(parameters, gradients, roots, -group["lr"])


class CentredRMSprop(Optimizer):
    """m ← d·m + (1 − d)·g;  n ← d·n + (1 − d)·g²;  θ ← θ − lr·g/√(n − m² + ε), with m = n = 0 at the start.

    Mnih et al. 2015 sum the gradients of 32 samples, with d = 0.95 and ε = 0.01; for their mean, ε is 0.01/32².
    """

    def __init__(
        self, params: Iterable[Tensor], lr: float = 2.5e-4, decay: float = 0.95, epsilon: float = 0.01 / 32**2
    ) -> None:
        super().__init__(params, {"lr": lr, "decay": decay, "epsilon": epsilon})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step; parameters without a gradient stay as they are."""
        assert closure is None
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not parameters:
                continue
            gradients = [parameter.grad for parameter in parameters]
            for parameter in parameters:
                if not self.state[parameter]:
                    self.state[parameter]["mean"] = torch.zeros_like(parameter)
                    self.state[parameter]["mean_square"] = torch.zeros_like(parameter)
            means, mean_squares = (
                [self.state[parameter][name] for parameter in parameters] for name in ("mean", "mean_square")
            )
            torch._foreach_lerp_(means, gradients, 1.0 - group["decay"])
            torch._foreach_mul_(mean_squares, group["decay"])
            torch._foreach_addcmul_(mean_squares, gradients, gradients, 1.0 - group["decay"])
            roots = torch._foreach_addcmul(mean_squares, means, means, -1.0)
            torch._foreach_clamp_min_(roots, 0.0)  # rounding
            torch._foreach_add_(roots, group["epsilon"])
            torch._foreach_sqrt_(roots)
            torch._foreach_addcdiv_(parameters, gradients, roots, -group["lr"])


def descend(optimiser: Optimizer, loss: Tensor, learning_rate: float, longest: float) -> float:
    """Take a step down the loss at this learning rate; return the norm of the gradient, which is cut to `longest`."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    norm = torch.nn.utils.clip_grad_norm_(parameters, longest)
    for group in optimiser.param_groups:
        group["lr"] = learning_rate
    optimiser.step()
    return norm.item()
