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
