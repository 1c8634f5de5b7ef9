"""Parts of updates that algorithms share: formulas, clipped gradients, RMSProp as published, steps, averages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from ...envs.engine import native
from ...policies.dense_layers import LeafGradients
from ...policies.devices import WEIGHTS
from ..experience.sequences import Sequences


def entropy(log_probabilities: Tensor) -> Tensor:
    """H(π(·|s)) = −Σ_a π log π, nats: [...], of log π [..., A]."""
    return -(log_probabilities.exp() * log_probabilities).sum(-1)


def of_actions(rows: Tensor, actions: Tensor) -> Tensor:
    """The numbers of the actions taken, [...], of numbers of all actions [..., A]."""
    return rows.gather(-1, actions.unsqueeze(-1)).squeeze(-1)


def kickstarting_loss(log_policy: Tensor, teacher: Tensor) -> Tensor:
    """H(π_T ‖ π) = −mean Σ_a π_T(a|s)·log π(a|s), of log π and π_T [..., A] (kickstarting, Schmitt et al. 2018)."""
    return -(teacher * log_policy).sum(-1).mean()


def backward_sums(terms: Tensor, factors: Tensor) -> Tensor:
    """x_t = e_t + f_t·x_{t+1} with x_k = 0, [k, n], of terms e and factors f [k, n]: advantages and targets of k steps,
    from the last one backwards, without gradient."""
    # NumPy's calls on so few numbers take a third of the time of PyTorch's.
    e, f = (np.ascontiguousarray(one.detach().cpu().numpy()) for one in (terms, factors))
    sums, last = np.empty_like(e), np.zeros_like(e[0])
    for t in range(len(e) - 1, -1, -1):
        sums[t] = last = e[t] + f[t] * last
    return torch.from_numpy(sums).to(terms.device)


def final_values(batch: Sequences, value: Callable[[Tensor], Tensor], device: torch.device) -> Tensor:
    """V of the observations at which a time limit ended an episode, placed at their steps: float32 [n, k], 0 elsewhere.

    value: V(s) [m] of observations [m, size].
    """
    finals = batch.finals
    if not len(finals.observations):
        return torch.zeros(batch.actions.shape, dtype=WEIGHTS, device=device)
    sequence, step, observations = (torch.from_numpy(array).to(device) for array in finals)
    estimates = value(observations.flatten(1))
    values = estimates.new_zeros(batch.actions.shape)
    values[sequence, step] = estimates
    return values


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

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step; parameters without a gradient do not change."""
        (group,) = self.param_groups
        lr, decay, epsilon = group["lr"], group["decay"], group["epsilon"]
        parameters = [one for one in group["params"] if one.grad is not None]
        if not parameters:
            return
        gradients = [one.grad for one in parameters]
        squares = self._averages("mean_square", parameters, 0.0 if self._centred else 1.0)
        if not self._centred and all(one.device.type == "cpu" and one.dtype == torch.float32 for one in parameters):
            for tensors in zip(parameters, squares, gradients, strict=True):
                vectors = [one.detach().view(-1).numpy() for one in tensors]
                native.call("rmsprop", *vectors, lr, decay, 1.0 - decay, epsilon)
            return
        torch._foreach_mul_(squares, decay)
        torch._foreach_addcmul_(squares, gradients, gradients, 1.0 - decay)
        variances: list[Tensor] | tuple[Tensor, ...] = squares
        if self._centred:
            means = self._averages("mean", parameters, 0.0)
            torch._foreach_lerp_(means, gradients, 1.0 - decay)
            variances = torch._foreach_addcmul(squares, means, means, -1.0)
            torch._foreach_clamp_min_(variances, 0.0)  # rounding
        roots = torch._foreach_add(variances, epsilon)
        torch._foreach_sqrt_(roots)
        torch._foreach_addcdiv_(parameters, gradients, roots, -lr)

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


def take_step(optimiser: Optimizer, learning_rate: float) -> None:
    """Take a step at this learning rate, in which numbers below 1.2e-38 count as 0.

    Averages of gradients that have become 0, of a ReLU that is off for good, decay into such numbers, with which a
    processor calculates ten times more slowly. Other threads would not follow, so it takes effect with one thread only.
    """
    optimiser.param_groups[0]["lr"] = learning_rate
    torch.set_flush_denormal(torch.get_num_threads() == 1)
    try:
        optimiser.step()
    finally:
        torch.set_flush_denormal(False)


def descend(optimiser: Optimizer, loss: Tensor, learning_rate: float, max_gradient_norm: float) -> Tensor:
    """Take a step down the loss at this learning rate; return the gradient's norm before it was clipped."""
    norm = set_gradients(loss, optimiser.param_groups[0]["params"], max_gradient_norm)
    take_step(optimiser, learning_rate)
    return norm
