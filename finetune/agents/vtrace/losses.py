"""The V-trace actor-critic (Espeholt et al. 2018), as formulas.

π is the policy being learned, μ the behaviour policy, ρ_t = π(a_t|s_t)/μ(a_t|s_t), V the value of a state.
"""

import torch
from torch import Tensor

from ..updates import backward_sums


@torch.no_grad()
def vtrace(
    rewards: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    values: Tensor,
    final_values: Tensor,
    rho: Tensor,
    gamma: float,
    rho_bar: float = 1.0,
    c_bar: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Targets v_t of V(s_t) and advantages of the actions, [n, k], of n sequences of k steps, without gradients.

        δ_t = ρ̄_t·(r_t + γ·V'_t − V(s_t))
        v_t = V(s_t) + δ_t + γ·c̄_t·[the episode continues]·(v_{t+1} − V(s_{t+1}))
        advantage_t = ρ̄_t·(r_t + γ·v'_t − V(s_t))

    with ρ̄_t = min(ρ̄, ρ_t) and c̄_t = min(c̄, ρ_t). V'_t is V(s_{t+1}) and v'_t is v_{t+1} where the episode
    continues; both are V of the final observation after a time limit, and 0 after a terminal step. v_k = V(s_k).

    rewards, terminated, truncated, rho: [n, k], of the steps. values: [n, k + 1], V of the states before them and of
    the last one. final_values: [n, k], V of the final observation of truncated steps.
    """
    over = terminated | truncated
    clipped, traces = rho.clamp(max=rho_bar), rho.clamp(max=c_bar)
    stopped_at = final_values.masked_fill(terminated, 0.0)
    following = torch.where(over, stopped_at, values[:, 1:])
    delta = clipped * (rewards + gamma * following - values[:, :-1])
    targets = values[:, :-1] + backward_sums(delta.t(), (gamma * traces).masked_fill(over, 0.0).t()).t()
    later = torch.cat([targets[:, 1:], values[:, -1:]], dim=1)
    advantages = clipped * (rewards + gamma * torch.where(over, stopped_at, later) - values[:, :-1])
    return targets, advantages


def policy_loss(log_pi: Tensor, advantages: Tensor) -> Tensor:
    """−mean log π(a_t|s_t)·advantage_t, of log π(a_t|s_t) [n, k]."""
    return -(log_pi * advantages).mean()


def value_loss(values: Tensor, targets: Tensor) -> Tensor:
    """mean (v_t − V(s_t))²; its weight is ½ in the paper."""
    return (targets - values).square().mean()
