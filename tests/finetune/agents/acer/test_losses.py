"""The formulas of ACER, on numbers worked out by hand."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.finetune.agents.acer import losses as acer
from torch import nn, tensor

GAMMA = 0.9


def retrace(
    terminated: Any = (False, False, False),
    truncated: Any = (False, False, False),
    final_values: Any = (0.0, 0.0, 0.0),
    rho: Any = None,
) -> list[float]:
    targets = acer.retrace(
        rewards=tensor([[1.0, 0.0, 2.0]]),
        terminated=tensor([terminated]),
        truncated=tensor([truncated]),
        q_taken=tensor([[0.5, 1.0, 1.5]]),
        values=tensor([[0.4, 0.8, 1.2, 2.0]]),
        final_values=tensor([final_values]),
        rho=tensor([[2.0, 0.5, 1.0] if rho is None else rho]),
        gamma=GAMMA,
    )
    return targets[0].tolist()


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
    rewards, values = torch.rand(4, 6), torch.rand(4, 7)
    nothing = torch.zeros(4, 6, dtype=torch.bool)
    targets = acer.retrace(
        rewards, nothing, nothing, values[:, :-1], values, torch.zeros(4, 6), torch.ones(4, 6), GAMMA
    )
    n_step = sum(GAMMA**t * rewards[:, t] for t in range(6)) + GAMMA**6 * values[:, 6]
    assert torch.allclose(targets[:, 0], n_step, atol=1e-6)


def test_policy_gradient_truncates_and_corrects() -> None:
    pi, mu, q = tensor([0.5, 0.3, 0.2]), tensor([0.02, 0.9, 0.08]), tensor([1.0, 2.0, 3.0])
    value = (pi * q).sum()
    assert value.item() == pytest.approx(1.7)
    assert acer.importance_weights(pi, mu, 0.0).tolist() == pytest.approx([25, 1 / 3, 2.5])
    g = acer.policy_gradient(pi, mu, tensor(0), q, value, tensor(4.0), c=10.0, epsilon=0.0)
    assert g.tolist() == pytest.approx([45.58, 0, 0], abs=1e-4)
    assert acer.logit_gradient(pi, g).tolist() == pytest.approx([11.395, -6.837, -4.558], abs=1e-4)


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_policy_gradient_is_the_derivative_of_the_gain(seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    pi, mu = (torch.rand(5, 4, generator=random, dtype=torch.float64).softmax(-1) for _ in range(2))
    mu = (mu**6) / (mu**6).sum(-1, keepdim=True)
    q = torch.randn(5, 4, generator=random, dtype=torch.float64)
    actions = torch.randint(4, (5,), generator=random)
    q_ret, values, c = torch.randn(5, generator=random, dtype=torch.float64), (pi * q).sum(-1), 1.5

    phi = pi.clone().requires_grad_()
    rho = acer.importance_weights(pi, mu)
    log_phi = torch.log(phi + acer.EPSILON)
    rows = torch.arange(5)
    gain = rho[rows, actions].clamp(max=c) * log_phi[rows, actions] * (q_ret - values)
    gain = gain + ((1 - c / rho).clamp(min=0) * pi * log_phi * (q - values[:, None])).sum(-1)
    (expected,) = torch.autograd.grad(gain.sum(), phi)
    assert torch.allclose(acer.policy_gradient(pi, mu, actions, q, values, q_ret, c), expected)


def test_an_action_that_the_behaviour_never_takes_is_finite() -> None:
    g = acer.policy_gradient(
        tensor([1.0, 0.0]), tensor([0.0, 1.0]), tensor(0), tensor([1.0, 2.0]), tensor(1.0), tensor(3.0), c=10.0
    )
    assert torch.isfinite(g).all()


@pytest.mark.parametrize(
    ("g", "expected"),
    [([0.6, 0.0, -0.2], [0.6, 0.0, -0.2]), ([-2.0, 0.5, -1.0], [-1.7815345, 0.8641092, -0.7269181])],
)
def test_trust_region(g: list[float], expected: list[float]) -> None:
    k = tensor([-0.8, -4 / 3, -1.0])
    z = acer.trust_region(tensor(g), k, delta=1.0, epsilon=0.0)
    assert z.tolist() == pytest.approx(expected, abs=1e-6)
    assert float(k @ z) <= 1 + 1e-6


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_the_trust_region_bounds_every_row_on_its_own(seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    pi, average = (torch.randn(6, 4, generator=random, dtype=torch.float64).softmax(-1) for _ in range(2))
    g = 5 * torch.randn(6, 4, generator=random, dtype=torch.float64)
    k = acer.kl_gradient(pi, average)
    z = acer.trust_region(g, k, delta=0.5)
    assert ((k * z).sum(-1) <= 0.5 + 1e-4).all()
    inside = (k * g).sum(-1) <= 0.5
    assert torch.equal(z[inside], g[inside])


def test_the_kl_gradient_is_the_derivative_of_the_divergence() -> None:
    average = tensor([0.4, 0.4, 0.2], dtype=torch.float64)
    logits = tensor([0.3, -0.2, 1.0], dtype=torch.float64, requires_grad=True)
    pi = logits.softmax(-1)
    (expected,) = torch.autograd.grad((average * (average / pi).log()).sum(), logits)
    assert torch.allclose(acer.kl_gradient(pi.detach(), average), expected)


def test_an_all_but_impossible_action_leaves_the_likely_ones_alone() -> None:
    pi, average = tensor([0.6, 0.4 - 1e-5, 1e-5]), tensor([0.5, 0.5 - 1e-5, 1e-5])
    g = tensor([0.0, 0.0, -1.0 / 1e-5])  # the gain of an unlikely action that went badly
    step = acer.trust_region(acer.logit_gradient(pi, g), acer.kl_gradient(pi, average), delta=1.0)
    assert step.abs().max() < 1.1


def test_the_entropy_bonus_pushes_the_logits_up_the_entropy() -> None:
    logits = tensor([2.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)
    phi = logits.softmax(-1)
    (expected,) = torch.autograd.grad(-(phi * phi.log()).sum(), logits, retain_graph=True)
    (found,) = torch.autograd.grad(phi, logits, acer.entropy_gradient(phi.detach(), epsilon=0.0))
    assert torch.allclose(found, expected)


def test_the_critics_gradient_is_that_of_half_the_mean_square() -> None:
    q, target = tensor([1.0, 2.0], requires_grad=True), tensor([3.0, 2.5])
    (0.5 * (target - q).square().mean()).backward()
    assert q.grad is not None
    assert acer.critic_gradient(q.detach(), target).tolist() == pytest.approx(q.grad.tolist())


def test_trace_lengths_stop_at_cuts_and_at_the_end_of_an_episode() -> None:
    rho, done = tensor([[2.0, 0.5, 0.5], [1.0, 1.0, 1.0]]), tensor([[False] * 3, [False, True, False]])
    assert acer.trace_lengths(rho, done).tolist() == pytest.approx([1 + 0.5 + 0.25, 2.0])


def test_the_first_step_of_a_trace_counts_whatever_its_weight() -> None:
    # Qret_0 = r_0 + γ·ρ̄_1·r_1 + …: ρ_0 is no part of it.
    rho, done = tensor([[0.0, 0.5], [0.1, 1.0]]), tensor([[False, False]] * 2)
    assert acer.trace_lengths(rho, done).tolist() == pytest.approx([1.5, 2.0])


def test_the_average_network_moves_by_one_hundredth() -> None:
    average, network = nn.Linear(3, 2), nn.Linear(3, 2)
    before = [parameter.clone() for parameter in average.parameters()]
    acer.update_average(list(average.parameters()), list(network.parameters()), alpha=0.99)
    for old, new, target in zip(before, average.parameters(), network.parameters(), strict=True):
        assert torch.allclose(new, 0.99 * old + 0.01 * target)


def test_the_target_of_a_demonstrated_action_is_what_its_player_achieved_where_that_is_known() -> None:
    found = acer.achieved_targets(tensor([[1.0, 2.0, 3.0]]), tensor([[7.0, 8.0, 9.0]]), tensor([[True, False, True]]))
    assert found.tolist() == [[7.0, 2.0, 9.0]]


def test_a_return_as_high_as_the_value_is_imitated_whole_and_one_far_below_it_not_at_all() -> None:
    returns, values = tensor([3.0, 2.0, 1.5, 1.0, 0.0, -5.0]), tensor([2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    assert acer.imitation_weights(returns, values, 2.0).tolist() == [1.0, 1.0, 0.75, 0.5, 0.0, 0.0]


def test_imitation_is_the_weighted_cross_entropy_with_the_player() -> None:
    logits = tensor([[0.0, 0.0], [math.log(4.0), 0.0]], requires_grad=True)
    player, weights = tensor([[0.25, 0.7], [1.0, 0.0]]), tensor([1.0, 0.5])
    pi = torch.softmax(logits, dim=-1)
    (-weights * (player * pi.log()).sum(-1)).mean().backward()
    assert logits.grad is not None
    torch.testing.assert_close(acer.imitation_gradient(pi.detach(), player, weights), logits.grad)
    # ½·(½·0.95 − 0.25) for even odds; ½·½·(0.8 − 1) for an action of probability 0.8, with half of the weight.
    assert logits.grad[:, 0].tolist() == pytest.approx([0.1125, -0.05])
