"""ACER with discrete actions (Wang et al. 2017, "Sample Efficient Actor-Critic with Experience Replay"), as formulas.

Symbols are the paper's: π the policy, μ the behaviour policy, ρ = π/μ, c the truncation of importance weights,
Qret the Retrace target, δ the size of the trust region.

The trust region is defined on the logits. stable-baselines defines it on the probabilities, where the gradient of an
almost impossible action is of order 1/π(a), and the part that the projection removes is added to the other actions.

All are compiled, of one sequence or of one state. pi, mu, pi_average, q, player and g are arrays [A] over the actions
of a state; functions with g or gradient write into it. Everything else is held constant.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

EPSILON = 1e-6
"""Keeps quotients and logarithms finite (stable-baselines' value)."""

formula = njit(nogil=True, error_model="numpy")


@formula
def importance_weight(pi, mu, epsilon=EPSILON):  # type: ignore[no-untyped-def]
    """ρ = π(a|s) / (μ(a|s) + ε) of one action."""
    return pi / (mu + epsilon)


@formula
def retrace(  # type: ignore[no-untyped-def]
    q_ret, rewards, terminated, truncated, q_taken, values, final_values, rho, gamma
):  # fmt: skip
    """Write the Retrace targets Qret [k] of a sequence of k steps into q_ret.

    Backwards from Q̄ = V(s_k): Qret_t = r_t + γ·Q̄, then Q̄ ← min(1, ρ_t)·(Qret_t − Q(s_t, a_t)) + V(s_t). Q̄ is 0 after a
    terminal step, and V of the final observation where a time limit stopped the episode.

    rewards, terminated, truncated (bool), q_taken Q(s_t, a_t), rho ρ_t(a_t), final_values (V where truncated, else
    anything): [k]; values V(s_t), bootstrap included: [k + 1].
    """
    q_bar = float(values[-1])
    for t in range(len(rewards) - 1, -1, -1):
        if terminated[t]:
            q_bar = 0.0
        elif truncated[t]:
            q_bar = float(final_values[t])
        q_ret[t] = rewards[t] + gamma * q_bar
        q_bar = min(1.0, rho[t]) * (q_ret[t] - q_taken[t]) + values[t]


@formula
def policy_gradient(g, pi, mu, action, q, value, q_ret, c, epsilon=EPSILON):  # type: ignore[no-untyped-def]
    """g = ∂G/∂φ of the actor's gain with truncated importance weights and bias correction (equation 9).

    G = min(c, ρ_t)·log(φ(a_t) + ε)·(Qret_t − V) + Σ_a [1 − c/ρ(a)]₊·π(a)·log(φ(a) + ε)·(Q(s, a) − V) of probabilities
    φ, differentiated at φ = π. value V(s_t).
    """
    for a in range(len(pi)):
        rho = importance_weight(pi[a], mu[a], epsilon)
        slope = max(0.0, 1.0 - c / rho) * pi[a] * (q[a] - value) if rho > c else 0.0
        if a == action:
            slope += min(c, rho) * (q_ret - value)
        g[a] = slope / (pi[a] + epsilon)


@formula
def add_entropy_gradient(g, pi, weight, epsilon=EPSILON):  # type: ignore[no-untyped-def]
    """g += w·(∂H/∂φ + 1) = −w·log φ of the entropy H = −Σ φ log φ, at φ = π.

    The constant −1 does not affect the gradient with respect to the logits. The bonus is part of the gain that the
    trust region limits; stable-baselines adds it to the loss of the logits, where it has no effect.
    """
    for a in range(len(pi)):
        g[a] -= weight * math.log(pi[a] + epsilon)


@formula
def to_logits(g, pi):  # type: ignore[no-untyped-def]
    """g ← (∂π/∂logits)ᵀ g = π(a)·(g(a) − Σ_b π(b) g(b)): from a gradient with respect to π to that with respect to the
    logits."""
    mean = 0.0
    for b in range(len(pi)):
        mean += pi[b] * g[b]
    for a in range(len(pi)):
        g[a] = pi[a] * (g[a] - mean)


@formula
def within_reach(g, delta):  # type: ignore[no-untyped-def]
    """False where the trust region cannot limit g, whatever π_avg: k·g ≤ max g − min g, because k = π − π_avg sums to 0
    and its positive part to 1 at most."""
    return g.max() - g.min() > delta


@formula
def to_trust_region(g, pi, pi_average, delta, epsilon=EPSILON):  # type: ignore[no-untyped-def]
    """g ← z* = g − max(0, (k·g − δ)/‖k‖²)·k, with k = ∂KL[π_avg ‖ π]/∂logits = π − π_avg: the vector closest to g that
    changes KL[π_avg ‖ π] by at most δ (equation 12). Return True where that is another vector."""
    along, square = 0.0, 0.0
    for a in range(len(pi)):
        k = pi[a] - pi_average[a]
        along += k * g[a]
        square += k * k
    if along <= delta:
        return False
    excess = (along - delta) / (square + epsilon)
    for a in range(len(pi)):
        g[a] -= excess * (pi[a] - pi_average[a])
    return True


@formula
def critic_gradient(q_taken, q_ret):  # type: ignore[no-untyped-def]
    """∂/∂Q(s_t, a_t) of ½(Qret_t − Q(s_t, a_t))², Qret held constant."""
    return q_taken - q_ret


@formula
def imitation_weight(achieved, value, tolerance):  # type: ignore[no-untyped-def]
    """Imitation weight w = clamp(1 + (G − V)/s, 0, 1) of a decision: 1 where the demonstrator achieved at least V(s), 0
    where its return G is lower by the tolerance s or more.

    Self-imitation learning (Oh et al. 2018) uses (G − V)₊ instead, which is zero for a demonstrator who is as good as
    the learner.
    """
    return min(max(1.0 + (achieved - value) / tolerance, 0.0), 1.0)


@formula
def add_imitation_gradient(gradient, pi, player, weight):  # type: ignore[no-untyped-def]
    """gradient += ∂L/∂logits = w·(π·Σ_a p(a) − p) of L = −w·Σ_a p(a|s)·log π(a|s), with p the demonstrator's
    probabilities, one-hot where only its action is known."""
    total = 0.0
    for a in range(len(pi)):
        total += player[a]
    for a in range(len(pi)):
        gradient[a] += weight * (pi[a] * total - player[a])


def trace_lengths(rho: NDArray[np.floating[Any]], done: NDArray[np.bool_]) -> NDArray[np.floating[Any]]:
    """Σ_t ∏_{1 ≤ i ≤ t} min(1, ρ_i) [n]: effective lookahead, in steps, of the first target of a sequence.

    The first step counts as 1, whatever ρ_0, because Qret_0 = r_0 + … contains the full first reward. rho ρ_t(a_t),
    done (bool, the step ended an episode): [n, k].
    """
    carried = np.minimum(rho[:, 1:], 1.0) * ~done[:, :-1]
    lengths: NDArray[np.floating[Any]] = 1.0 + carried.cumprod(axis=1).sum(axis=1)
    return lengths
