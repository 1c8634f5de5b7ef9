"""Least-squares temporal differences: the values of a fixed policy in one computation."""

import torch
from torch import Tensor

RIDGE = 0.03
"""Ridge on the diagonal, relative to the mean variance of a feature. Without it, nearly constant or collinear features
get such large weights that the first change of the hidden layers ruins all values."""


def lstd(features: Tensor, next_features: Tensor, rewards: Tensor, gamma: float) -> Tensor:
    """w with V(s) = wᵀφ(s), from steps of one policy (Bradtke and Barto 1996).

    Solves (Σ φ_t (φ_t − γ φ_{t+1})ᵀ + ridge) w = Σ φ_t r_t. features φ(s_t), next_features φ(s_{t+1}), 0 after a
    terminal step: [steps, size], the last feature being the constant 1, whose weight the ridge leaves alone; rewards
    [steps]; result [size], float64.
    """
    phi, following, r = (one.to(torch.float64) for one in (features, next_features, rewards))
    a = phi.T @ (phi - gamma * following)
    shrinking = len(phi) * RIDGE * phi[:, :-1].var(dim=0, correction=0).mean() + torch.finfo(phi.dtype).tiny
    a.diagonal()[:-1] += shrinking
    w: Tensor = torch.linalg.solve(a, phi.T @ r)
    return w
