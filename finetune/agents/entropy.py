"""The entropy of a policy."""

from torch import Tensor


def entropy(log_probabilities: Tensor) -> Tensor:
    """H(π(·|s)) = −Σ_a π log π, nats: [...], of log π [..., A]."""
    return -(log_probabilities.exp() * log_probabilities).sum(-1)
