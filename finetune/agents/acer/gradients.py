"""ACER's gradient with respect to a network's outputs: the formulas of `losses`, for every step of a batch."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...experience.sequences import DEMONSTRATIONS, Sequences
from ...kernels import kernel
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
    average: Callable[[NDArray[np.int64]], Array],
    final_values: Array,
    bounds: tuple[float, float] | None,
    tolerance: float,
    settings: AcerSettings,
    now: PhaseValues,
) -> tuple[Array, Steps]:
    """The gradient with respect to logits and Q, [2, A, k, n], of the mean over all steps of

        q_coefficient·½(Qret − Q(s, a))² − z*·logits − imitation·w·Σ_a p(a|s)·log π(a|s),

    the last for demonstrations. With `critic_only`, the critic's term is the only one. pi, q: [A, k + 1, n].
    average: π_avg, [A, m], of m states, t·n + i for step t of sequence i; called only for states that the trust region
    may limit. bounds: of values and targets, in scaled rewards, as is the tolerance of imitation. With
    `achieved_returns`, demonstrations have no z*, and their targets are the returns where known.
    """
    n, k = batch.actions.shape
    kind = q.dtype
    gradient, g = np.zeros((2, len(q), k, n), kind), np.empty((k, n, len(q)))
    values = np.empty((n, k + 1), kind)
    rho, q_taken, q_ret, to_action = (np.zeros((n, k), kind) for _ in range(4))
    outside, limited, reached = (np.zeros(shape, np.bool_) for shape in ((n, k), (n, k), (k, n)))
    player, known = batch.player, batch.known
    mu = np.ascontiguousarray(batch.behaviour_probabilities)  # one type, and so one compiled function
    by_return = settings.achieved_returns and known is not None
    returns, known = (batch.returns, known) if by_return else (batch.rewards, batch.terminated)
    low, high = (-np.inf, np.inf) if bounds is None else bounds
    _targets(
        pi, q, batch.actions, batch.rewards, mu, batch.terminated, batch.truncated, final_values, returns, known,
        float(now.gamma), settings.reward_scale, low, high, by_return, values, rho, q_taken, q_ret, outside,
    )  # fmt: skip
    _critic(gradient[1], batch.actions, q_taken, q_ret, settings.q_coefficient)
    if not now.critic_only:
        entropy = float(now.entropy * settings.entropy_coefficient)
        _gain(g, reached, pi, q, mu, batch.actions, values, q_ret, settings.truncation, entropy, settings.delta)
        states = np.flatnonzero(reached)
        if len(states):
            _limit(g, limited, states, pi, average(states), settings.delta)
        _actor(
            gradient[0], to_action, g, pi, batch.actions, batch.source, mu if player is None else player,
            returns, known, values, settings.reward_scale, tolerance, 0.0 if player is None else float(now.imitation),
            settings.achieved_returns, by_return,
        )  # fmt: skip
    return gradient, Steps(rho, q_taken, q_ret, values[:, :-1], outside, limited, to_action)


@kernel
def _targets(  # type: ignore[no-untyped-def]
    pi, q, actions, rewards, mu, terminated, truncated, final_values, returns, known, gamma, reward_scale, low, high,
    by_return, values, rho, q_taken, q_ret, outside,
):  # fmt: skip
    """Write V, ρ, Q and its targets into the last five arrays; returns and known count `by_return` only."""
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


@kernel
def _critic(gradient, actions, q_taken, q_ret, q_coefficient):  # type: ignore[no-untyped-def]
    """Write the critic's gradient, [A, k, n]."""
    n, k = actions.shape
    for i in range(n):
        for t in range(k):
            slope = q_coefficient * acer.critic_gradient(q_taken[i, t], q_ret[i, t])
            gradient[actions[i, t], t, i] = slope / (n * k)


@kernel
def _gain(  # type: ignore[no-untyped-def]
    g, reached, pi, q, mu, actions, values, q_ret, c, entropy, delta
):  # fmt: skip
    """Write the gradient of the actor's gain with respect to the logits, [k, n, A], and where it may be limited."""
    n, k = actions.shape
    for t in range(k):
        for i in range(n):
            here, pi_t = g[t, i], pi[:, t, i]
            acer.policy_gradient(here, pi_t, mu[i, t], actions[i, t], q[:, t, i], values[i, t], q_ret[i, t], c)
            acer.add_entropy_gradient(here, pi_t, entropy)
            acer.to_logits(here, pi_t)
            reached[t, i] = acer.within_reach(here, delta)


@kernel
def _limit(g, limited, states, pi, pi_average, delta):  # type: ignore[no-untyped-def]
    """Project g on the trust region in these states; pi_average: [A, m]."""
    n = g.shape[1]
    for m in range(len(states)):
        t, i = states[m] // n, states[m] % n
        limited[i, t] = acer.to_trust_region(g[t, i], pi[:, t, i], pi_average[:, m], delta)


@kernel
def _actor(  # type: ignore[no-untyped-def]
    gradient, to_action, g, pi, actions, source, player, returns, known, values, reward_scale, tolerance, imitation,
    achieved_returns, by_return,
):  # fmt: skip
    """Write the gradient with respect to the logits, [A, k, n], from z* in g, which is overwritten."""
    n, k = actions.shape
    for t in range(k):
        for i in range(n):
            here, shown = g[t, i], source[i] == DEMONSTRATIONS
            for a in range(len(pi)):
                here[a] = 0.0 if shown and achieved_returns else -here[a]
            if shown and imitation > 0.0:
                weight = imitation
                if by_return and known[i, t]:
                    weight *= acer.imitation_weight(returns[i, t] * reward_scale, values[i, t], tolerance)
                acer.add_imitation_gradient(here, pi[:, t, i], player[i, t], weight)
            to_action[i, t] = here[actions[i, t]]
            for a in range(len(pi)):
                gradient[a, t, i] = here[a] / (n * k)
