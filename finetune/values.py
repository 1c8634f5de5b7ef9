"""Values of a policy that stands still, at once: least-squares temporal differences."""

import torch
from torch import Tensor

RIDGE = 1e-4
"""Added to the diagonal, relative to its mean: features that never vary would make the system singular."""


def lstd(features: Tensor, next_features: Tensor, rewards: Tensor, gamma: float) -> Tensor:
    """w with V(s) = wᵀφ(s), from steps of one policy (Bradtke and Barto 1996).

    Solves Σ φ_t (φ_t − γ φ_{t+1})ᵀ w = Σ φ_t r_t. features φ(s_t), next_features φ(s_{t+1}), 0 after a terminal step:
    [steps, size]; rewards [steps]; result [size], float64.
    """
    phi, following, r = (one.to(torch.float64) for one in (features, next_features, rewards))
    a = phi.T @ (phi - gamma * following)
    ridge = RIDGE * (phi * phi).sum() / phi.shape[1]
    a += ridge * torch.eye(phi.shape[1], dtype=torch.float64, device=phi.device)
    w: Tensor = torch.linalg.solve(a, phi.T @ r)
    return w
