"""The formulas of ACER, on numbers worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.finetune.agents.acer import losses as acer
from torch import Tensor

GAMMA = 0.9


def doubles(numbers: Any) -> Tensor:
    return torch.as_tensor(numbers, dtype=torch.float64)


def slope(loss: Tensor, of: Tensor) -> Tensor:
    (found,) = torch.autograd.grad(loss, of)
    return found


def policy_gradient(
    pi: Tensor, mu: Tensor, action: int, q: Tensor, q_ret: float, c: float, entropy_weight: float = 0.0, **more: float
) -> Tensor:
    value = (pi * q).sum()
    return acer.policy_gradient(pi, mu, torch.tensor(action), q, value, doubles(q_ret), c, entropy_weight, **more)


def probabilities(random: np.random.Generator, size: int = 4) -> Tensor:
    return doubles(random.dirichlet(np.full(size, 0.5)) * 0.98 + 0.02 / size)


# A step that stops at t = 1 with V = 5: 0 + 0.9·5, and before it 1 + 0.9·(0.5·(4.5 − 1) + 0.8).
@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ({}, [2.6875, 3.15, 3.8]),
        ({"terminated": (0, 1, 0)}, [1.27, 0.0, 3.8]),
        ({"truncated": (0, 1, 0)}, [3.295, 4.5, 3.8]),
        ({"terminated": (0, 1, 0), "truncated": (0, 1, 0)}, [1.27, 0.0, 3.8]),
        ({"truncated": (0, 0, 1)}, [3.781, 5.58, 2 + 0.9 * 5]),
        ({"terminated": (0, 0, 1)}, [1.9585, 1.53, 2.0]),
    ],
    ids=["none", "end", "time limit", "end at the time limit", "cut at a time limit", "end of the sequence"],
)
def test_retrace_targets(ends: dict[str, Any], expected: list[float]) -> None:
    terminated, truncated = (
        torch.tensor(ends.get(name, (0, 0, 0)), dtype=torch.bool) for name in ("terminated", "truncated")
    )
    found = acer.retrace(
        rewards=doubles([1.0, 0.0, 2.0]),
        terminated=terminated,
        truncated=truncated,
        q_taken=doubles([0.5, 1.0, 1.5]),
        values=doubles([0.4, 0.8, 1.2, 2.0]),
        final_values=doubles([7.0, 5.0, 5.0]),
        rho=doubles([2.0, 0.5, 1.0]),
        gamma=GAMMA,
    )
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_the_policys_gradient_truncates_and_corrects() -> None:
    pi, mu, q = doubles([0.5, 0.3, 0.2]), doubles([0.02, 0.9, 0.08]), doubles([1.0, 2.0, 3.0])
    assert acer.importance_weights(pi, mu, 0.0).tolist() == pytest.approx([25, 1 / 3, 2.5])
    # With respect to π: 46 − 0.42 for the action taken, whose advantages are 4 − 1.7 and 1 − 1.7; 0 for the others.
    found = policy_gradient(pi, mu, 0, q, 4.0, 10.0, epsilon=0.0)
    assert found.tolist() == pytest.approx([11.395, -6.837, -4.558], abs=1e-4)


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_the_policys_gradient_is_that_of_the_gain_with_everything_else_constant(seed: int) -> None:
    random = np.random.default_rng(seed)
    pi, mu, q = probabilities(random), probabilities(random), doubles(random.normal(size=4))
    action, q_ret, c = int(random.integers(4)), random.normal(), 1.5
    logits, rho, value = pi.log().requires_grad_(), pi / (mu + acer.EPSILON), (pi * q).sum()
    log_pi = torch.log(torch.softmax(logits, -1) + acer.EPSILON)
    gain = rho[action].clamp(max=c) * log_pi[action] * (q_ret - value)
    gain = gain + ((1 - c / rho).clamp(min=0) * pi * log_pi * (q - value)).sum()
    found = policy_gradient(pi, mu, action, q, q_ret, c)
    torch.testing.assert_close(found, slope(gain, logits), rtol=1e-9, atol=1e-12)


def test_an_action_that_the_behaviour_never_takes_is_finite() -> None:
    found = policy_gradient(doubles([1.0, 0.0]), doubles([0.0, 1.0]), 0, doubles([1.0, 2.0]), 3.0, 10.0, 0.1)
    assert torch.isfinite(found).all()


@pytest.mark.parametrize(
    ("g", "expected"),
    [([0.6, 0.0, -0.2], [0.6, 0.0, -0.2]), ([-2.0, 0.5, -1.0], [-1.7815345, 0.8641092, -0.7269181])],
)
def test_trust_region(g: list[float], expected: list[float]) -> None:
    k, pi = doubles([-0.8, -4 / 3, -1.0]), doubles([0.2, 0.3, 0.5])
    z, limited = acer.to_trust_region(doubles(g), pi, pi - k, 1.0, epsilon=0.0)
    assert bool(limited) is (g != expected)
    assert z.tolist() == pytest.approx(expected, abs=1e-6)
    assert float((k * z).sum()) <= 1 + 1e-6


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_the_trust_region_bounds_the_change_of_the_divergence(seed: int) -> None:
    random = np.random.default_rng(seed)
    average, g = probabilities(random), doubles(5 * random.normal(size=4))
    logits = doubles(random.normal(size=4)).requires_grad_()
    pi = logits.softmax(-1)
    k = slope((average * (average / pi).log()).sum(), logits)
    z, limited = acer.to_trust_region(g, pi.detach(), average, 0.5)
    assert bool(limited) == bool((k * g).sum() > 0.5)
    assert float((k * z).sum()) <= 0.5 + 1e-4
    along = max(0.0, float((k * g).sum()) - 0.5) / (float(k.square().sum()) + acer.EPSILON)
    torch.testing.assert_close(g - z, along * k, rtol=1e-9, atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_only_states_within_reach_of_the_trust_region_can_be_limited(seed: int) -> None:
    random = np.random.default_rng(seed)
    pi, average = (doubles(random.dirichlet(np.full(4, 0.1))) for _ in range(2))
    g = doubles(random.normal(size=4) * random.choice([0.1, 1.0]))
    _, limited = acer.to_trust_region(g, pi, average, 0.5)
    assert acer.within_reach(g, 0.5) or not limited


def test_an_all_but_impossible_action_leaves_the_likely_ones_alone() -> None:
    pi, average = doubles([0.6, 0.4 - 1e-5, 1e-5]), doubles([0.5, 0.5 - 1e-5, 1e-5])
    g = policy_gradient(pi, pi, 2, doubles([0.0, 0.0, 0.0]), -1.0, 10.0)  # the action went badly
    z, _ = acer.to_trust_region(g, pi, average, 1.0)
    assert z.abs().max() < 1.1


def test_the_entropy_bonus_pushes_the_logits_up_the_entropy() -> None:
    logits = doubles([2.0, 0.0, -1.0]).requires_grad_()
    pi = logits.softmax(-1)
    expected = slope(-0.7 * (pi * pi.log()).sum(), logits)
    pi = pi.detach()
    found = policy_gradient(pi, pi, 0, torch.zeros_like(pi), 0.0, 10.0, 0.7, epsilon=0.0)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0.0)


def test_the_critics_loss_is_half_the_mean_square() -> None:
    q, q_ret = doubles([1.0, 2.0]).requires_grad_(), doubles([3.0, 2.5])
    loss = acer.critic_loss(q, q_ret)
    assert loss.item() == pytest.approx(0.5 * (4.0 + 0.25) / 2)
    assert slope(loss, q).tolist() == pytest.approx([-1.0, -0.25])


def test_a_return_as_high_as_the_value_is_imitated_whole_and_one_far_below_it_not_at_all() -> None:
    found = acer.imitation_weight(doubles([3.0, 2.0, 1.5, 1.0, 0.0, -5.0]), doubles(2.0), 2.0)
    assert found.tolist() == [1.0, 1.0, 0.75, 0.5, 0.0, 0.0]


def test_imitation_is_the_weighted_cross_entropy_with_the_player() -> None:
    logits = doubles([[0.0, 0.0], [math.log(4.0), 0.0]]).requires_grad_()
    player, weights = doubles([[0.25, 0.7], [1.0, 0.0]]), doubles([1.0, 0.5])
    loss = acer.imitation_loss(logits, player, weights)
    assert loss.item() == pytest.approx((0.95 * math.log(2.0) - 0.5 * math.log(0.8)) / 2)
    # ½·0.95 − 0.25 for even odds; ½·(0.8 − 1) for an action of probability 0.8, with half of the weight.
    assert (2 * slope(loss, logits))[:, 0].tolist() == pytest.approx([0.225, -0.1])


def with_one(features: Tensor) -> Tensor:
    return torch.cat([features, torch.ones_like(features[:, :1])], dim=1)


def test_lstd_finds_the_values_of_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    # s0 → s1 (reward 1) → s2 (reward 2) → end (reward 4); γ = 0.5: V = 1 + 0.5·(2 + 0.5·4), 2 + 0.5·4, 4.
    monkeypatch.setattr(acer, "RIDGE", 1e-9)
    states = with_one(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    following = torch.stack([states[1], states[2], torch.zeros(3)])
    w = acer.lstd(states.repeat(50, 1), following.repeat(50, 1), torch.tensor([1.0, 2.0, 4.0]).repeat(50), gamma=0.5)
    assert (states.double() @ w).tolist() == pytest.approx([3.0, 4.0, 4.0], rel=1e-6)


def test_a_strong_ridge_leaves_the_mean_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acer, "RIDGE", 1e6)
    phi = with_one(torch.randn(2000, 3, generator=torch.Generator().manual_seed(0)))
    assert acer.lstd(phi, phi.roll(-1, 0), torch.ones(2000), 0.9).tolist() == pytest.approx([0, 0, 0, 10], abs=1e-2)


def test_features_that_never_vary_or_vary_together_do_no_harm() -> None:
    column = torch.randn(100, 1)
    for features in (torch.cat([column, column, torch.zeros(100, 3)], dim=1), torch.zeros(100, 2)):
        phi = with_one(features)
        assert acer.lstd(phi, phi.roll(-1, 0), torch.ones(100), gamma=0.9).abs().max() < 20
