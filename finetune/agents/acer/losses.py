"""ACER with discrete actions (Wang et al. 2017, "Sample Efficient Actor-Critic with Experience Replay"), as formulas.

Symbols are the paper's: π the policy, μ the behaviour policy, ρ = π/μ, c the truncation of importance weights,
Qret the Retrace target, δ the size of the trust region.

The trust region is defined on the logits. stable-baselines defines it on the probabilities, where the gradient of an
almost impossible action is of order 1/π(a), and the part that the projection removes is added to the other actions.

Every function returns a target or a gradient; no result carries a gradient to the parameters.
"""

import torch
from torch import Tensor

EPSILON = 1e-6
"""Keeps quotients and logarithms finite (stable-baselines' value)."""


def importance_weights(pi: Tensor, mu: Tensor, epsilon: float = EPSILON) -> Tensor:
    """ρ(a) = π(a|s) / (μ(a|s) + ε), of every action; pi, mu and result [..., A]."""
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
    """Retrace targets Qret [n, k] of n sequences of k steps.

    Backwards from Q̄ = V(s_k): Qret_t = r_t + γ·next_t, Q̄ ← min(1, ρ_t)·(Qret_t − Q(s_t, a_t)) + V(s_t), where next_t
    is Q̄ within an episode, 0 after a terminal step, and V of the final observation where a time limit stopped the
    episode.

    rewards, terminated, truncated (bool), q_taken Q(s_t, a_t), rho ρ_t(a_t), final_values (V where truncated, else
    anything): [n, k]; values V(s_t), bootstrap included: [n, k + 1].
    """
    rho_bar = rho.clamp(max=1.0)
    running = ~(terminated | truncated)
    stopped = truncated & ~terminated
    # Written as Qret_t = b_t + γ·m_t·Qret_{t+1}, m_t = ρ̄_{t+1} inside an episode, to leave one operation per step.
    trace = torch.zeros_like(rho_bar)
    trace[:, :-1] = rho_bar[:, 1:]
    expected = values[:, 1:].clone()
    expected[:, :-1] -= rho_bar[:, 1:] * q_taken[:, 1:]
    b = rewards + gamma * (running * expected + torch.where(stopped, final_values, 0.0))
    m = gamma * running * trace
    targets = torch.empty_like(rewards)
    q_ret = torch.zeros_like(rewards[:, 0])
    for t in range(rewards.shape[1] - 1, -1, -1):
        q_ret = torch.addcmul(b[:, t], m[:, t], q_ret)
        targets[:, t] = q_ret
    return targets


def policy_gradient(
    pi: Tensor,
    mu: Tensor,
    actions: Tensor,
    q: Tensor,
    values: Tensor,
    q_ret: Tensor,
    c: float,
    epsilon: float = EPSILON,
) -> Tensor:
    """∂G/∂φ [..., A] of the actor's gain with truncated importance weights and bias correction (equation 9).

    G = min(c, ρ_t)·log(φ(a_t) + ε)·(Qret_t − V) + Σ_a [1 − c/ρ(a)]₊·π(a)·log(φ(a) + ε)·(Q(s, a) − V) of probabilities
    φ, everything else held constant, differentiated at φ = π.

    pi, mu, q: [..., A]; actions int64, values V(s_t), q_ret: [...].
    """
    rho = importance_weights(pi, mu, epsilon)
    inverse = 1.0 / (pi + epsilon)
    excess = (1.0 - c / rho).clamp_(min=0.0)  # ρ = 0 gives −∞, and so 0
    g = excess * pi * inverse * (q - values.unsqueeze(-1))
    index = actions.unsqueeze(-1)
    taken = rho.gather(-1, index).clamp_(max=c) * inverse.gather(-1, index) * (q_ret - values).unsqueeze(-1)
    return g.scatter_add_(-1, index, taken)


def entropy_gradient(pi: Tensor, epsilon: float = EPSILON) -> Tensor:
    """∂H/∂φ + 1 = −log φ [..., A] of the entropy H = −Σ φ log φ, at φ = π.

    The constant −1 does not affect the gradient with respect to the logits. The bonus is part of the gain that the
    trust region limits; stable-baselines adds it to the loss of the logits, where it has no effect.
    """
    return -torch.log(pi + epsilon)


def logit_gradient(pi: Tensor, g: Tensor) -> Tensor:
    """(∂π/∂logits)ᵀ g = π(a)·(g(a) − Σ_b π(b) g(b)), [..., A]: turns a gradient with respect to π into that with
    respect to the logits."""
    return pi * (g - (pi * g).sum(-1, keepdim=True))


def kl_gradient(pi: Tensor, pi_average: Tensor) -> Tensor:
    """k = ∂KL[π_avg ‖ π]/∂logits = π − π_avg [..., A]."""
    return pi - pi_average


def trust_region(g: Tensor, k: Tensor, delta: float, epsilon: float = EPSILON) -> Tensor:
    """z* = g − max(0, (k·g − δ)/‖k‖²)·k: the vector closest to g that changes KL[π_avg ‖ π] by at most δ (equation
    12)."""
    excess = ((k * g).sum(-1, keepdim=True) - delta) / ((k * k).sum(-1, keepdim=True) + epsilon)
    return g - excess.clamp_(min=0.0) * k


def critic_gradient(q_taken: Tensor, q_ret: Tensor) -> Tensor:
    """∂L_Q/∂Q(s_t, a_t) = (Q(s_t, a_t) − Qret_t)/N of L_Q = mean ½(Qret_t − Q(s_t, a_t))², Qret held constant."""
    return (q_taken - q_ret) / q_ret.numel()


def achieved_targets(q_ret: Tensor, returns: Tensor, known: Tensor) -> Tensor:
    """Targets of Q(s_t, a_t): the demonstrator's return G_t where it is known, Retrace's target elsewhere; all [n, k].

    G_t needs neither μ nor bootstrapping and evaluates the demonstrator's continuation. Retrace evaluates the learner's
    own: where the two policies differ, it keeps little more than the first of the demonstrator's rewards.
    """
    return torch.where(known, returns, q_ret)


def imitation_weights(returns: Tensor, values: Tensor, tolerance: Tensor | float) -> Tensor:
    """Imitation weight w = clamp(1 + (G − V)/s, 0, 1) of a decision, [...]: 1 where the demonstrator achieved at least
    V(s), 0 where its return is lower by the tolerance s or more.

    Self-imitation learning (Oh et al. 2018) uses (G − V)₊ instead, which is zero for a demonstrator who is as good as
    the learner. returns G, values V(s): held constant.
    """
    return (1.0 + (returns - values) / tolerance).clamp(0.0, 1.0)


def imitation_gradient(pi: Tensor, player: Tensor, weights: Tensor) -> Tensor:
    """∂L/∂logits = w·(π·Σ_a p(a) − p)/N of L = −mean w·Σ_a p(a|s)·log π(a|s), with p the demonstrator's probabilities,
    one-hot where only its action is known.

    pi, player, result: [..., A]; weights w: [...].
    """
    return weights.unsqueeze(-1) * (pi * player.sum(-1, keepdim=True) - player) / weights.numel()


def trace_lengths(rho: Tensor, done: Tensor) -> Tensor:
    """Σ_t ∏_{1 ≤ i ≤ t} min(1, ρ_i) [n]: effective lookahead, in steps, of the first target of a sequence.

    The first step counts as 1, whatever ρ_0, because Qret_0 = r_0 + … contains the full first reward. rho ρ_t(a_t),
    done (bool, the step ended an episode): [n, k].
    """
    carried = rho[:, 1:].clamp(max=1.0) * ~done[:, :-1]
    return 1.0 + carried.cumprod(dim=1).sum(dim=1)


@torch.no_grad()
def update_average(average: list[Tensor], parameters: list[Tensor], alpha: float) -> None:
    """θ_avg ← α·θ_avg + (1 − α)·θ, in place."""
    torch._foreach_lerp_(average, parameters, 1.0 - alpha)
