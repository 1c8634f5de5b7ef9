"""The formulas of ACER, on numbers worked out by hand and against autograd."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qwop.finetune.agents.acer import losses as acer
from torch import Tensor

GAMMA = 0.9
NEVER = (False, False, False)

Array = NDArray[np.float64]


def retrace(
    terminated: Any = NEVER,
    truncated: Any = NEVER,
    final_values: Any = (0.0, 0.0, 0.0),
) -> list[float]:
    targets = np.empty(3)
    acer.retrace(
        targets,
        rewards=np.array([1.0, 0.0, 2.0]),
        terminated=np.array(terminated),
        truncated=np.array(truncated),
        q_taken=np.array([0.5, 1.0, 1.5]),
        values=np.array([0.4, 0.8, 1.2, 2.0]),
        final_values=np.array(final_values),
        rho=np.array([2.0, 0.5, 1.0]),
        gamma=GAMMA,
    )
    found: list[float] = targets.tolist()
    return found


def policy_gradient(pi: Array, mu: Array, action: int, q: Array, value: float, q_ret: float, c: float) -> Array:
    g = np.full_like(pi, np.nan)
    acer.policy_gradient(g, pi, mu, action, q, value, q_ret, c)
    return g


def probabilities(random: np.random.Generator, size: int = 4) -> Array:
    return random.dirichlet(np.full(size, 0.5)) * 0.98 + 0.02 / size


def test_retrace_targets() -> None:
    assert retrace() == pytest.approx([2.6875, 3.15, 3.8], abs=1e-6)


def test_retrace_stops_at_the_end_of_an_episode() -> None:
    assert retrace(terminated=(False, True, False)) == pytest.approx([1.27, 0.0, 3.8], abs=1e-6)


def test_a_truncated_step_bootstraps_from_the_observation_that_it_stopped_at() -> None:
    # t = 1: 0 + 0.9·5; t = 0: 1 + 0.9·(0.5·(4.5 − 1) + 0.8)
    targets = retrace(truncated=(False, True, False), final_values=(7.0, 5.0, 7.0))
    assert targets == pytest.approx([3.295, 4.5, 3.8], abs=1e-6)


def test_a_step_that_is_both_terminated_and_truncated_is_terminal() -> None:
    ended = retrace(terminated=(False, True, False), truncated=(False, True, False), final_values=(7.0, 5.0, 7.0))
    assert ended == pytest.approx([1.27, 0.0, 3.8], abs=1e-6)


def test_a_sequence_cut_at_a_time_limit_does_not_bootstrap_from_the_next_episode() -> None:
    assert retrace(truncated=(False, False, True), final_values=(0.0, 0.0, 5.0))[-1] == pytest.approx(2 + 0.9 * 5)
    assert retrace(terminated=(False, False, True))[-1] == pytest.approx(2.0)


def test_retrace_on_policy_with_q_equal_to_v_is_the_n_step_return() -> None:
    random = np.random.default_rng(0)
    rewards, values, nothing, targets = random.random(6), random.random(7), np.zeros(6, dtype=np.bool_), np.empty(6)
    acer.retrace(targets, rewards, nothing, nothing, values[:-1], values, np.zeros(6), np.ones(6), GAMMA)
    n_step = sum(GAMMA**t * rewards[t] for t in range(6)) + GAMMA**6 * values[6]
    assert targets[0] == pytest.approx(n_step, abs=1e-12)


def test_policy_gradient_truncates_and_corrects() -> None:
    pi, mu, q = np.array([0.5, 0.3, 0.2]), np.array([0.02, 0.9, 0.08]), np.array([1.0, 2.0, 3.0])
    value = float(pi @ q)
    assert value == pytest.approx(1.7)
    assert [acer.importance_weight(*each, 0.0) for each in zip(pi, mu, strict=True)] == pytest.approx([25, 1 / 3, 2.5])
    g = np.empty(3)
    acer.policy_gradient(g, pi, mu, 0, q, value, 4.0, 10.0, epsilon=0.0)
    assert g == pytest.approx([45.58, 0, 0], abs=1e-4)
    acer.to_logits(g, pi)
    assert g == pytest.approx([11.395, -6.837, -4.558], abs=1e-4)


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_policy_gradient_is_the_derivative_of_the_gain(seed: int) -> None:
    random = np.random.default_rng(seed)
    pi, mu, q = probabilities(random), probabilities(random), random.normal(size=4)
    action, q_ret, value, c = int(random.integers(4)), random.normal(), float(pi @ q), 1.5
    phi = torch.tensor(pi, requires_grad=True)
    rho, log_phi = torch.from_numpy(pi / (mu + acer.EPSILON)), torch.log(phi + acer.EPSILON)
    gain = rho[action].clamp(max=c) * log_phi[action] * (q_ret - value)
    gain = gain + ((1 - c / rho).clamp(min=0) * torch.from_numpy(pi * (q - value)) * log_phi).sum()
    (expected,) = torch.autograd.grad(gain, phi)
    assert policy_gradient(pi, mu, action, q, value, q_ret, c) == pytest.approx(expected.numpy(), rel=1e-10, abs=1e-13)


def test_an_action_that_the_behaviour_never_takes_is_finite() -> None:
    assert np.isfinite(
        policy_gradient(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0, np.array([1.0, 2.0]), 1.0, 3.0, 10.0)
    ).all()


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_the_gradient_reaches_the_logits_as_by_autograd(seed: int) -> None:
    random = np.random.default_rng(seed)
    logits = torch.tensor(random.normal(size=4), requires_grad=True)
    phi, g = logits.softmax(-1), random.normal(size=4)
    (expected,) = torch.autograd.grad(phi, logits, torch.from_numpy(g))
    found = g.copy()
    acer.to_logits(found, phi.detach().numpy())
    assert found == pytest.approx(expected.numpy(), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize(
    ("g", "expected"),
    [([0.6, 0.0, -0.2], [0.6, 0.0, -0.2]), ([-2.0, 0.5, -1.0], [-1.7815345, 0.8641092, -0.7269181])],
)
def test_trust_region(g: list[float], expected: list[float]) -> None:
    k, pi = np.array([-0.8, -4 / 3, -1.0]), np.array([0.2, 0.3, 0.5])
    z = np.array(g)
    limited = acer.to_trust_region(z, pi, pi - k, 1.0, epsilon=0.0)
    assert limited is (g != expected)
    assert z == pytest.approx(expected, abs=1e-6)
    assert k @ z <= 1 + 1e-6


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_the_trust_region_bounds_the_change_of_the_divergence(seed: int) -> None:
    random = np.random.default_rng(seed)
    average, logits, g = probabilities(random), torch.tensor(random.normal(size=4), requires_grad=True), np.empty(4)
    g[:] = 5 * random.normal(size=4)
    pi, other = logits.softmax(-1), torch.from_numpy(average)
    (direction,) = torch.autograd.grad((other * (other / pi).log()).sum(), logits)
    k, z = direction.numpy(), g.copy()
    limited = acer.to_trust_region(z, pi.detach().numpy(), average, 0.5)
    assert limited == (k @ g > 0.5)
    assert k @ z <= 0.5 + 1e-4
    assert g - z == pytest.approx(max(0.0, k @ g - 0.5) / (k @ k + acer.EPSILON) * k, rel=1e-9, abs=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_only_states_within_reach_of_the_trust_region_can_be_limited(seed: int) -> None:
    random = np.random.default_rng(seed)
    pi, average = random.dirichlet(np.full(4, 0.1)), random.dirichlet(np.full(4, 0.1))
    g = random.normal(size=4) * random.choice([0.1, 1.0])
    reached = acer.within_reach(g, 0.5)
    assert reached or not acer.to_trust_region(g, pi, average, 0.5)


def test_the_reach_of_the_trust_region_is_that_of_opposite_policies() -> None:
    g = np.array([0.3, 0.0, -0.3])
    assert acer.within_reach(g, 0.59)
    assert acer.to_trust_region(g.copy(), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), 0.59)
    assert not acer.within_reach(g, 0.61)


def test_an_all_but_impossible_action_leaves_the_likely_ones_alone() -> None:
    pi, average = np.array([0.6, 0.4 - 1e-5, 1e-5]), np.array([0.5, 0.5 - 1e-5, 1e-5])
    g = np.array([0.0, 0.0, -1.0 / 1e-5])  # the gain of an unlikely action that went badly
    acer.to_logits(g, pi)
    acer.to_trust_region(g, pi, average, 1.0)
    assert np.abs(g).max() < 1.1


def test_the_entropy_bonus_pushes_the_logits_up_the_entropy() -> None:
    logits = torch.tensor([2.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)
    phi, g = logits.softmax(-1), np.zeros(3)
    (expected,) = torch.autograd.grad(-0.7 * (phi * phi.log()).sum(), logits)
    acer.add_entropy_gradient(g, phi.detach().numpy(), 0.7, epsilon=0.0)
    acer.to_logits(g, phi.detach().numpy())
    assert g == pytest.approx(expected.numpy(), rel=1e-12)


def test_the_critics_gradient_is_that_of_half_the_square() -> None:
    q = torch.tensor([1.0, 2.0], requires_grad=True)
    (0.5 * (torch.tensor([3.0, 2.5]) - q).square()).sum().backward()
    assert q.grad is not None
    assert [acer.critic_gradient(1.0, 3.0), acer.critic_gradient(2.0, 2.5)] == q.grad.tolist()


def test_trace_lengths_stop_at_cuts_and_at_the_end_of_an_episode() -> None:
    rho, done = np.array([[2.0, 0.5, 0.5], [1.0, 1.0, 1.0]]), np.array([[False] * 3, [False, True, False]])
    assert acer.trace_lengths(rho, done).tolist() == pytest.approx([1 + 0.5 + 0.25, 2.0])


def test_the_first_step_of_a_trace_counts_whatever_its_weight() -> None:
    # Qret_0 = r_0 + γ·ρ̄_1·r_1 + …: ρ_0 is no part of it.
    rho, done = np.array([[0.0, 0.5], [0.1, 1.0]]), np.array([[False, False]] * 2)
    assert acer.trace_lengths(rho, done).tolist() == pytest.approx([1.5, 2.0])


def test_a_return_as_high_as_the_value_is_imitated_whole_and_one_far_below_it_not_at_all() -> None:
    found = [acer.imitation_weight(achieved, 2.0, 2.0) for achieved in (3.0, 2.0, 1.5, 1.0, 0.0, -5.0)]
    assert found == [1.0, 1.0, 0.75, 0.5, 0.0, 0.0]


def test_imitation_is_the_weighted_cross_entropy_with_the_player() -> None:
    def gradients(logits: Tensor, player: list[float], weight: float) -> tuple[Array, Array]:
        pi = torch.softmax(logits, dim=-1)
        (expected,) = torch.autograd.grad(
            -weight * (torch.tensor(player, dtype=torch.float64) * pi.log()).sum(), logits
        )
        found = np.ones(2)
        acer.add_imitation_gradient(found, pi.detach().numpy(), np.array(player), weight)
        return found - 1, expected.numpy()

    even = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    likely = torch.tensor([math.log(4.0), 0.0], dtype=torch.float64, requires_grad=True)
    for found, expected in (gradients(even, [0.25, 0.7], 1.0), gradients(likely, [1.0, 0.0], 0.5)):
        assert found == pytest.approx(expected, abs=1e-12)
    # ½·0.95 − 0.25 for even odds; ½·(0.8 − 1) for an action of probability 0.8, with half of the weight.
    assert gradients(even, [0.25, 0.7], 1.0)[0][0] == pytest.approx(0.225)
    assert gradients(likely, [1.0, 0.0], 0.5)[0][0] == pytest.approx(-0.1)
