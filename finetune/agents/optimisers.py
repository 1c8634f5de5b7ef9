"""Adam without overhead; RMSProp as in TensorFlow 1, and as published with DQN; clipped gradients; averages."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ...envs.engine import native
from ...policies.dense_layers import LeafGradients

Tensors = list[Tensor] | tuple[Tensor, ...]


@contextmanager
def without_denormals() -> Iterator[None]:
    """Context manager: numbers below 1.2e-38 count as 0 in this thread.

    Averages of gradients that have become 0, of a ReLU that is off for good, decay into such numbers, with which a
    processor calculates ten times more slowly. Other threads would not follow, so it takes effect with one thread only.
    """
    torch.set_flush_denormal(torch.get_num_threads() == 1)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


class FusedAdam(torch.optim.Adam):
    """PyTorch's fused Adam without the bookkeeping of its `step`, which with small networks takes twice as long as the
    arithmetic. The same bits, and the same state."""

    def __init__(self, params: Iterable[Tensor], lr: float, epsilon: float) -> None:
        super().__init__(params, lr, eps=epsilon, fused=True)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step; parameters without a gradient do not change."""
        assert closure is None
        (group,) = self.param_groups
        parameters = [one for one in group["params"] if one.grad is not None]
        if any(one not in self.state for one in parameters):
            super().step()
            return
        states = [self.state[one] for one in parameters]
        means, squares, steps = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
        gradients = [one.grad for one in parameters]
        beta1, beta2 = group["betas"]
        with without_denormals():
            torch._foreach_add_(steps, 1)
            torch._fused_adam_(
                parameters, gradients, means, squares, [], steps, amsgrad=False, beta1=beta1, beta2=beta2,
                lr=group["lr"], weight_decay=0.0, eps=group["eps"], maximize=False,
            )  # fmt: skip

    step.hooked = True  # type: ignore[attr-defined]  # without the profiler's entry for every step


class RMSprop(Optimizer):
    """v ← d·v + (1 − d)·g²;  θ ← θ − lr·g/√(v + ε), with v = 1 at the start, as in TensorFlow 1.

    PyTorch's RMSprop has ε outside the root and starts from v = 0, which makes its first steps up to a hundred times
    longer. float32 on a CPU takes one pass over the memory of each parameter, a third of the time.

    `centred`, as in Mnih et al. 2015: m ← d·m + (1 − d)·g;  θ ← θ − lr·g/√(v − m² + ε), with m = v = 0 at the start.
    """

    def __init__(
        self, params: Iterable[Tensor], lr: float, decay: float, epsilon: float, centred: bool = False
    ) -> None:
        super().__init__(params, {"lr": lr, "decay": decay, "epsilon": epsilon})
        self._centred = centred
        self._calls: dict[Tensor, tuple[Any, Any, native.Call]] = {}
        """v and gradient of each parameter as of the last step, and the kernel's call with θ, v and the gradient."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._calls = {}

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step; parameters without a gradient do not change."""
        assert closure is None
        (group,) = self.param_groups
        parameters = [one for one in group["params"] if one.grad is not None]
        if not self._centred and all(one.device.type == "cpu" and one.dtype == torch.float32 for one in parameters):
            self._in_one_pass(parameters, (group["lr"], group["decay"], 1.0 - group["decay"], group["epsilon"]))
        elif parameters:
            gradients = [one.grad for one in parameters]
            roots = torch._foreach_add(self._variances(parameters, gradients, group["decay"]), group["epsilon"])
            torch._foreach_sqrt_(roots)
            torch._foreach_addcdiv_(parameters, gradients, roots, -group["lr"])

    def _in_one_pass(self, parameters: list[Tensor], numbers: tuple[float, ...]) -> None:
        with without_denormals():
            for one, square in zip(parameters, self._averages("mean_square", parameters, 1.0), strict=True):
                v, g, call = self._calls.get(one, (None, None, None))
                if call is None or v is not square or g is not one.grad:
                    assert one.grad is not None
                    vectors = [each.view(-1).numpy() for each in (one.detach(), square, one.grad)]
                    call = native.bind("rmsprop", *vectors, *numbers)
                    self._calls[one] = square, one.grad, call
                call.set_last_reals(*numbers)
                call()

    def _variances(self, parameters: list[Tensor], gradients: list[Tensor], decay: float) -> Tensors:
        """Update the averages of each parameter; return v, or v − m²."""
        mean_squares = self._averages("mean_square", parameters, 0.0 if self._centred else 1.0)
        torch._foreach_mul_(mean_squares, decay)
        torch._foreach_addcmul_(mean_squares, gradients, gradients, 1.0 - decay)
        if not self._centred:
            return mean_squares
        means = self._averages("mean", parameters, 0.0)
        torch._foreach_lerp_(means, gradients, 1.0 - decay)
        variances = torch._foreach_addcmul(mean_squares, means, means, -1.0)
        torch._foreach_clamp_min_(variances, 0.0)  # rounding
        return variances

    def _averages(self, name: str, parameters: list[Tensor], start: float) -> list[Tensor]:
        """The named state tensor of each parameter; new ones are filled with `start`."""
        for parameter in parameters:
            if name not in self.state[parameter]:
                self.state[parameter][name] = torch.full_like(parameter, start)
        return [self.state[parameter][name] for parameter in parameters]


@torch.no_grad()
def move_towards(average: list[Tensor], parameters: list[Tensor], step: float) -> None:
    """θ̄ ← (1 − step)·θ̄ + step·θ, in place."""
    torch._foreach_lerp_(average, parameters, step)


def set_gradients(
    loss: Tensor,
    parameters: Sequence[Tensor],
    longest: float,
    dense: LeafGradients | None = None,
    rows: int | None = None,
    fixed: Sequence[Tensor] = (),
) -> Tensor:
    """Set the parameters' gradients of the loss, scaled down to this norm together; return the norm before.

    dense: layers with these parameters, whose outputs the loss is of, or their first `rows`. fixed: the parameters
    that do not learn, the first ones.
    """
    for one in parameters:
        one.grad = None
    loss.backward()
    gradient = None if dense is None else dense.backward(rows)
    for one in fixed:
        one.grad = None
    if gradient is None:
        return torch.nn.utils.clip_grad_norm_(parameters, longest)
    learned = gradient[sum(one.numel() for one in fixed) :]
    norm: Tensor = torch.linalg.vector_norm(learned)
    learned.mul_((longest / (norm + 1e-6)).clamp_(max=1.0))
    return norm


def descend(optimiser: Optimizer, loss: Tensor, learning_rate: float, max_gradient_norm: float) -> Tensor:
    """Take a step down the loss at this learning rate; return the gradient's norm before it was clipped."""
    (group,) = optimiser.param_groups
    norm = set_gradients(loss, group["params"], max_gradient_norm)
    group["lr"] = learning_rate
    optimiser.step()
    return norm
