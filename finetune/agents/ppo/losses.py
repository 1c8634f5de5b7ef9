"""Proximal policy optimisation (Schulman et al. 2017), as formulas.

π is the policy being learned, μ the behaviour policy, ρ = π(a|s)/μ(a|s) their ratio, V the value of a state, Â an
estimate of the advantage of an action.
"""

import torch
from torch import Tensor
from torch.nn import functional

from ..updates import backward_sums
from ..updates import entropy as entropy


def advantages(
    rewards: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    values: Tensor,
    final_values: Tensor,
    gamma: float,
    lam: float,
) -> Tensor:
    """Generalised advantage estimates Â (Schulman et al. 2016), [n, k].

        δ_t = r_t + γ·V'_t − V(s_t)
        Â_t = δ_t + γλ·[the episode continues]·Â_{t+1}

    with `V'_t = V(s_{t+1})` where the episode continues, V of the final observation after a time limit, and 0 after a
    terminal step.

    rewards, terminated, truncated: [n, k], of the steps. values: [n, k + 1], V of the states before them and of the
    last one. final_values: [n, k], V of the final observation of truncated steps.
    """
    over = terminated | truncated
    following = torch.where(over, final_values, values[:, 1:]).masked_fill(terminated, 0.0)
    delta = rewards + gamma * following - values[:, :-1]
    return backward_sums(delta.t(), gamma * lam * (~over).to(delta.dtype).t()).t()


def clipped_surrogate(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """min(ρ·Â, clamp(ρ, 1 − ε, 1 + ε)·Â) of every step; ε is `clip`. To be maximised."""
    return torch.minimum(ratio * advantage, ratio.clamp(1.0 - clip, 1.0 + clip) * advantage)


def value_loss(values: Tensor, returns: Tensor) -> Tensor:
    """mean (V(s) − R)², with R = Â + V(s) from before the update."""
    return functional.mse_loss(values, returns)


def kl_estimate(log_ratio: Tensor) -> Tensor:
    """KL[μ‖π] from the actions that μ took: mean (ρ − 1) − log ρ; never negative (Schulman 2020)."""
    return (log_ratio.exp() - 1.0 - log_ratio).mean()
