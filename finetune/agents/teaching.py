"""Kickstarting: imitating a teacher in the games that the policy plays."""

from torch import Tensor


def teaching_loss(log_policy: Tensor, teacher: Tensor) -> Tensor:
    """H(π_T ‖ π) = −mean Σ_a π_T(a|s)·log π(a|s), of log π and π_T [..., A] (Schmitt et al. 2018)."""
    return -(teacher * log_policy).sum(-1).mean()
