"""ACER's gradient with respect to a network's outputs: the formulas of `losses`, for every step of a batch."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...experience.sequences import DEMONSTRATIONS, Sequences
from ...schedules.phase import PhaseValues
from . import losses as acer
from .settings import AcerSettings

Array = NDArray[np.floating[Any]]


class Steps(NamedTuple):
    """Numbers of every step, [n, k]: ρ and Q of the action taken, its target, V; outside: True where V was clipped;
    limited: True where the trust region shortened the policy's gradient; to_action: the gradient with respect to the
    logit of the action taken."""

    rho: Array
    q_taken: Array
    q_ret: Array
    values: Array
    outside: NDArray[np.bool_]
    limited: NDArray[np.bool_]
    to_action: Array


def loss_gradient(
    batch: Sequences,
    pi: Array,
    q: Array,
    pi_average: Array,
    final_values: Array,
    bounds: tuple[float, float] | None,
    tolerance: float,
    settings: AcerSettings,
    now: PhaseValues,
) -> tuple[Array, Steps]:
    """The gradient with respect to logits and Q, [2, A, k, n], of the mean over all steps of

        q_coefficient·½(Qret − Q(s, a))² − z*·logits − imitation·w·Σ_a p(a|s)·log π(a|s),

    the last for demonstrations. pi, q: [A, k + 1, n]; pi_average: [A, k, n], unused with `critic_only`, where the
    critic's term is the only one. bounds: of values and targets, in scaled rewards, as is the tolerance of
    imitation. With `achieved_returns`, demonstrations have no z*, and their targets are the returns where known.
    """
    n, k = batch.actions.shape
    kind = q.dtype
    made = np.zeros((2, len(q), k, n), kind)
    values = np.empty((n, k + 1), kind)
    rho, q_taken, q_ret, to_action = (np.empty((n, k), kind) for _ in range(4))
    outside, limited = np.empty((n, k), np.bool_), np.zeros((n, k), np.bool_)
    player, known = batch.player, batch.known
    mu = np.ascontiguousarray(batch.behaviour_probabilities)  # one type, and so one compiled function
    by_return = settings.achieved_returns and known is not None
    low, high = (-np.inf, np.inf) if bounds is None else bounds
    _gradient(
        pi, q, pi_average, batch.actions, batch.rewards, mu,
        batch.terminated, batch.truncated, final_values, batch.source, mu if player is None else player,
        batch.returns if by_return else batch.rewards, known if by_return else batch.terminated,
        float(now.gamma), settings.reward_scale, low, high, settings.truncation, settings.delta, settings.q_coefficient,
        float(now.entropy * settings.entropy_coefficient), 0.0 if player is None else float(now.imitation),
        tolerance, settings.achieved_returns, by_return, bool(now.critic_only),
        made, values, rho, q_taken, q_ret, outside, limited, to_action,
    )  # fmt: skip
    return made, Steps(rho, q_taken, q_ret, values[:, :-1], outside, limited, to_action)


@acer.formula
def _gradient(  # type: ignore[no-untyped-def]
    pi, q, pi_average, actions, rewards, mu, terminated, truncated, final_values, source, player, returns, known,
    gamma, reward_scale, low, high, c, delta, q_coefficient, entropy, imitation, tolerance, achieved_returns, by_return,
    critic_only, gradient, values, rho, q_taken, q_ret, outside, limited, to_action,
):  # fmt: skip
    """See `loss_gradient`; write into the last eight arrays. returns and known count `by_return` only."""
    n, k = actions.shape
    for t in range(k + 1):
        for i in range(n):
            value = 0.0
            for a in range(len(pi)):
                value += pi[a, t, i] * q[a, t, i]
            values[i, t] = min(max(value, low), high)
            if t < k:
                outside[i, t] = not low <= value <= high
                action = actions[i, t]
                rho[i, t] = acer.importance_weight(pi[action, t, i], mu[i, t, action])
                q_taken[i, t] = q[action, t, i]
    scaled, bounded = np.empty(k), np.empty(k)
    for i in range(n):
        for t in range(k):
            scaled[t] = rewards[i, t] * reward_scale
            bounded[t] = min(max(final_values[i, t], low), high)
        acer.retrace(q_ret[i], scaled, terminated[i], truncated[i], q_taken[i], values[i], bounded, rho[i], gamma)
        for t in range(k):
            target = returns[i, t] * reward_scale if by_return and known[i, t] else q_ret[i, t]
            q_ret[i, t] = min(max(target, low), high)
    g = np.empty(len(pi))
    for t in range(k):
        for i in range(n):
            action, shown = actions[i, t], source[i] == DEMONSTRATIONS
            of_critic = q_coefficient * acer.critic_gradient(q_taken[i, t], q_ret[i, t])
            gradient[1, action, t, i] = of_critic / (n * k)
            if critic_only:
                to_action[i, t] = 0.0
                continue
            pi_t, q_t, value = pi[:, t, i], q[:, t, i], values[i, t]
            acer.policy_gradient(g, pi_t, mu[i, t], action, q_t, value, q_ret[i, t], c)
            acer.add_entropy_gradient(g, pi_t, entropy)
            acer.to_logits(g, pi_t)
            limited[i, t] = acer.to_trust_region(g, pi_t, pi_average[:, t, i], delta)
            for a in range(len(pi)):
                g[a] = 0.0 if shown and achieved_returns else -g[a]
            if shown and imitation > 0.0:
                weight = imitation
                if by_return and known[i, t]:
                    weight *= acer.imitation_weight(returns[i, t] * reward_scale, value, tolerance)
                acer.add_imitation_gradient(g, pi_t, player[i, t], weight)
            to_action[i, t] = g[action]
            for a in range(len(pi)):
                gradient[0, a, t, i] = g[a] / (n * k)
