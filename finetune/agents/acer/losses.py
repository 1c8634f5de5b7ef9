"""ACER with discrete actions (Wang et al. 2017, "Sample Efficient Actor-Critic with Experience Replay"), as formulas.

Symbols are the paper's: π the policy, μ the behaviour policy, ρ = π/μ, c the truncation of importance weights,
Qret the Retrace target, δ the size of the trust region.

The trust region is defined on the logits. stable-baselines defines it on the probabilities, where the gradient of an
almost impossible action is of order 1/π(a), and the part that the projection removes is added to the other actions.

logits, pi, mu, pi_average, q and g are of all actions, [..., A]; everything else is of steps, [...] or [k, n].
"""

import torch
from torch import Tensor
from torch.nn import functional

from ....policies.devices import in_float64
from ..updates import backward_sums

EPSILON = 1e-6
"""Keeps quotients and logarithms finite (stable-baselines' value)."""

TRUNCATION = 10.0
"""Bound c at which importance weights are truncated."""

CRITIC = 0.5
"""Weight of the critic's loss."""

RIDGE = 0.03
"""Ridge on the diagonal, relative to the mean variance of a feature. Without it, nearly constant or collinear features
get such large weights that the first change of the hidden layers ruins all values."""


def importance_weights(pi: Tensor, mu: Tensor, epsilon: float = EPSILON) -> Tensor:
    """ρ = π(a|s) / (μ(a|s) + ε)."""
    return pi / (mu + epsilon)


def retrace(
    rewards: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    q_taken: Tensor,
    values: Tensor,
    final_values: Tensor,
    rho: Tensor,
    gamma: float,
) -> Tensor:
    """The Retrace targets Qret [k, n] of n sequences of k steps.

        Qret_t = r_t + γ·Q̄_{t+1},    Q̄_t = min(1, ρ_t)·(Qret_t − Q(s_t, a_t)) + V(s_t),    Q̄_k = V(s_k)

    Q̄ is 0 after a terminal step, and V of the final observation where a time limit stopped the episode.

    rewards, terminated, truncated, q_taken Q(s_t, a_t), rho ρ_t(a_t): [k, n]. values V(s_t): [k + 1, n]. final_values:
    V of the final observations of truncated steps, [k, n].
    """
    over = terminated | truncated
    following = torch.where(over, final_values.masked_fill(terminated, 0.0), values[1:])
    errors = rewards + gamma * following - q_taken
    # Qret_t − Q_t = error_t + γ·[the episode continues]·min(1, ρ_{t+1})·(Qret_{t+1} − Q_{t+1})
    carried = (gamma * rho.clamp(max=1.0)).roll(-1, 0).masked_fill(over, 0.0)
    return q_taken + backward_sums(errors, carried)


def policy_gradient(
    pi: Tensor,
    mu: Tensor,
    actions: Tensor,
    q: Tensor,
    values: Tensor,
    q_ret: Tensor,
    c: float,
    entropy_weight: float,
    epsilon: float = EPSILON,
) -> Tensor:
    """g = ∂G/∂logits of the actor's gain, truncated importance weights with bias correction (equation 9), and entropy:

        G = min(c, ρ_t)·log π(a_t|s)·(Qret_t − V(s)) + Σ_a [1 − c/ρ(a)]₊·π̂(a)·log π(a|s)·(Q(s, a) − V(s)) + w·H(π)

    with π̂ = π and all else held constant. The bonus is part of the gain that the trust region limits; stable-baselines
    adds it to the loss of the logits, where it has no effect.
    """
    rho, index = importance_weights(pi, mu, epsilon), actions.unsqueeze(-1)
    weights = (1.0 - c / rho).clamp(min=0.0) * pi * (q - values.unsqueeze(-1))
    weights.scatter_add_(-1, index, rho.gather(-1, index).clamp(max=c) * (q_ret - values).unsqueeze(-1))
    biased = pi + epsilon
    slopes = weights / biased - entropy_weight * biased.log()  # ∂G/∂π but for a constant of H, which logits cancel
    return pi * (slopes - (pi * slopes).sum(-1, keepdim=True))


def within_reach(g: Tensor, delta: float) -> Tensor:
    """False where the trust region cannot limit g, whatever π_avg: k·g ≤ max g − min g, because k = π − π_avg sums to 0
    and its positive part to 1 at most."""
    return g.amax(-1) - g.amin(-1) > delta


def to_trust_region(
    g: Tensor, pi: Tensor, pi_average: Tensor, delta: float, epsilon: float = EPSILON
) -> tuple[Tensor, Tensor]:
    """z* = g − max(0, (k·g − δ)/‖k‖²)·k, with k = ∂KL[π_avg ‖ π]/∂logits = π − π_avg: the vector closest to g that
    changes KL[π_avg ‖ π] by at most δ (equation 12). Also True where that is another vector, [...]."""
    k = pi - pi_average
    excess = (k * g).sum(-1) - delta
    z = g - (excess.clamp(min=0.0) / (k.square().sum(-1) + epsilon)).unsqueeze(-1) * k
    return z, excess > 0.0


def critic_loss(q_taken: Tensor, q_ret: Tensor) -> Tensor:
    """mean ½(Qret_t − Q(s_t, a_t))²."""
    return 0.5 * functional.mse_loss(q_taken, q_ret)


def imitation_loss(logits: Tensor, player: Tensor, weights: Tensor) -> Tensor:
    """−mean w·Σ_a p(a|s)·log π(a|s), with p the demonstrator's probabilities, one-hot where only its action is known.

    weights: w of each step, 0 for live play.
    """
    return -(weights * (player * torch.log_softmax(logits, -1)).sum(-1)).mean()


def imitation_weight(achieved: Tensor, value: Tensor, tolerance: float) -> Tensor:
    """Imitation weight w = clamp(1 + (G − V)/s, 0, 1) of a decision: 1 where the demonstrator achieved at least V(s), 0
    where its return G is lower by the tolerance s or more.

    Self-imitation learning (Oh et al. 2018) uses (G − V)₊ instead, which is zero for a demonstrator who is as good as
    the learner.
    """
    return (1.0 + (achieved - value) / tolerance).clamp(0.0, 1.0)


def lstd(features: Tensor, next_features: Tensor, rewards: Tensor, gamma: float) -> Tensor:
    """w with V(s) = wᵀφ(s), by least-squares temporal differences from steps of one policy (Bradtke and Barto 1996).

    Solves (Σ φ_t (φ_t − γ φ_{t+1})ᵀ + ridge) w = Σ φ_t r_t. features φ(s_t), next_features φ(s_{t+1}), 0 after a
    terminal step: [steps, size], the last feature is the constant 1, whose weight is not regularised; rewards
    [steps]; result [size], float64.
    """
    phi, following, r = map(in_float64, (features, next_features, rewards))
    a = phi.T @ (phi - gamma * following)
    shrinking = len(phi) * RIDGE * phi[:, :-1].var(dim=0, correction=0).mean() + torch.finfo(phi.dtype).tiny
    a.diagonal()[:-1] += shrinking
    w: Tensor = torch.linalg.solve(a, phi.T @ r)
    return w
