"""Deep Q-learning, as formulas, with the options of double and prioritised DQN and DQfD.

Symbols are the papers': Q the learned network (online), Q⁻ the target network, δ = y − Q(s, a) the temporal-difference
error, w the importance weight of a sample. A transition is (s, a, r, d, s'), n steps
long: r is the sum of its discounted rewards and d the discount of the bootstrap value, γⁿ, or 0 where the episode ended
(`transitions.Transitions`).

No target carries a gradient.
"""

import torch
from torch import Tensor


def double_target(rewards: Tensor, discounts: Tensor, q_next: Tensor, q_next_target: Tensor) -> Tensor:
    """y = r + d·Q⁻(s', argmax_a Q(s', a)) (van Hasselt et al. 2016); with Q = Q⁻, the target of Mnih et al. 2015.

    rewards, discounts, result: [B]; q_next Q(s', ·), q_next_target Q⁻(s', ·): [B, A].
    """
    best = q_next.argmax(dim=-1).unsqueeze(-1)
    return (rewards + discounts * q_next_target.gather(-1, best).squeeze(-1)).detach()


def huber(errors: Tensor, kappa: float = 1.0) -> Tensor:
    """½δ² where |δ| ≤ κ, else κ(|δ| − ½κ), of every error."""
    size = errors.abs()
    return torch.where(size <= kappa, 0.5 * errors.square(), kappa * (size - 0.5 * kappa))


def weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    """mean_i w_i·L_i: every sample is weighted before the mean (Schaul et al. 2016). losses, weights: [B]."""
    return (weights * losses).mean()


def margin_loss(q: Tensor, actions: Tensor, margin: float) -> Tensor:
    """J_E = max_a [Q(s, a) + m·1(a ≠ a_E)] − Q(s, a_E) (DQfD, Hester et al. 2018), [B].

    Only meaningful for demonstrated actions a_E. q Q(s, ·): [B, A]; actions int64 [B].
    """
    index = actions.unsqueeze(-1)
    with_margin = (q + margin).scatter(-1, index, q.gather(-1, index))
    return with_margin.max(dim=-1).values - q.gather(-1, index).squeeze(-1)
