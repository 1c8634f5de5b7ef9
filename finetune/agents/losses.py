"""Formulas that several algorithms share."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ..experience.sequences import Sequences


def entropy(log_probabilities: Tensor) -> Tensor:
    """H(π(·|s)) = −Σ_a π log π, nats: [...], of log π [..., A]."""
    return -(log_probabilities.exp() * log_probabilities).sum(-1)


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
        return torch.zeros(batch.actions.shape, device=device)
    sequence, step, observations = (torch.from_numpy(array).to(device) for array in finals)
    estimates = value(observations.flatten(1))
    values = estimates.new_zeros(batch.actions.shape)
    values[sequence, step] = estimates
    return values
