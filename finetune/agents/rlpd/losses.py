"""RLPD with discrete actions (Ball et al. 2023, "Efficient Online Reinforcement Learning with Offline Data").

Q_i is member i of the ensemble, Q⁻_i its target network. A transition is (s, a, r, d, s'), n steps long: r is the sum
of its discounted rewards and d the discount of the bootstrap value, γⁿ, or 0 where the episode ended
(`transitions.Transitions`). No target carries a gradient.
"""

from torch import Tensor


def subset_target(rewards: Tensor, discounts: Tensor, q_next: Tensor, q_next_target: Tensor, subset: Tensor) -> Tensor:
    """y = r + d·min_{i ∈ Z} Q⁻_i(s', a*), a* = argmax_a mean_j Q_j(s', a).

    The minimum over a random subset Z of the members keeps the values of actions absent from the data from growing
    (Chen et al. 2021). rewards, discounts, result: [B]; q_next Q_j(s', ·), q_next_target Q⁻_i(s', ·): [M, B, A];
    subset: int64 [|Z|].
    """
    best = q_next.mean(0).argmax(dim=-1)
    q_best = q_next_target[subset].gather(-1, best.expand(len(subset), -1).unsqueeze(-1)).squeeze(-1)
    return (rewards + discounts * q_best.min(dim=0).values).detach()


def ensemble_loss(q_taken: Tensor, target: Tensor) -> Tensor:
    """L = Σ_i mean_b ½(y_b − Q_i(s_b, a_b))², of Q_i(s, a) [M, B] and y [B]: each member has its own loss."""
    return 0.5 * (target - q_taken).square().mean(dim=1).sum()
