"""Formulas that several algorithms share."""

from collections.abc import Callable

import torch
from torch import Tensor

from ...policies.devices import WEIGHTS
from ..experience.sequences import Sequences


def entropy(log_probabilities: Tensor) -> Tensor:
    """H(π(·|s)) = −Σ_a π log π, nats: [...], of log π [..., A]."""
    return -(log_probabilities.exp() * log_probabilities).sum(-1)


def kickstarting_loss(log_policy: Tensor, teacher: Tensor) -> Tensor:
    """H(π_T ‖ π) = −mean Σ_a π_T(a|s)·log π(a|s), of log π and π_T [..., A] (kickstarting, Schmitt et al. 2018)."""
    return -(teacher * log_policy).sum(-1).mean()


def backward_sums(terms: Tensor, factors: Tensor) -> Tensor:
    """x_t = e_t + f_t·x_{t+1} with x_k = 0, [n, k], of terms e and factors f [n, k]: advantages and targets of k steps,
    from the last one backwards."""
    found = [torch.zeros_like(terms[:, 0])]
    # Rows of steps, because columns are slow to read.
    for term, factor in zip(*(one.t().contiguous().flip(0) for one in (terms, factors)), strict=True):
        found.append(torch.addcmul(term, factor, found[-1]))
    return torch.stack(found[:0:-1], dim=1)


def final_values(batch: Sequences, value: Callable[[Tensor], Tensor], device: torch.device) -> Tensor:
    """V of the observations at which a time limit ended an episode, placed at their steps: float32 [n, k], 0 elsewhere.

    value: V(s) [m] of observations [m, size].
    """
    finals = batch.finals
    if not len(finals.observations):
        return torch.zeros(batch.actions.shape, dtype=WEIGHTS, device=device)
    sequence, step, seen = (torch.from_numpy(array).to(device) for array in finals)
    found = value(seen.flatten(1))
    values = found.new_zeros(batch.actions.shape)
    values[sequence, step] = found
    return values
