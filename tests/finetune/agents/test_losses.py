"""The formulas of the algorithms, on numbers worked out by hand."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.finetune.agents import updates
from qwop.finetune.agents.acer import losses as acer
from qwop.finetune.agents.dqn import losses as dqn
from qwop.finetune.agents.ftw import losses as ftw
from qwop.finetune.agents.ppo import losses as ppo
from qwop.finetune.agents.rlpd import losses as rlpd
from qwop.finetune.agents.vtrace import losses as vtrace
from qwop.policies.recurrent import Gaussian
from torch import Tensor

NO, YES = False, True
ENDS: dict[str, tuple[list[bool], list[bool]]] = {
    "no end": ([NO, NO, NO], [NO, NO, NO]),
    "end": ([NO, YES, NO], [NO, NO, NO]),
    "time limit": ([NO, NO, NO], [NO, YES, NO]),
    "end at the time limit": ([NO, YES, NO], [NO, YES, NO]),
    "end of the sequence": ([NO, NO, YES], [NO, NO, NO]),
    "cut at a time limit": ([NO, NO, NO], [NO, NO, YES]),
}
"""terminated and truncated of three steps."""

LOG2 = math.log(2.0)


def numbers(value: Any) -> Any:
    """Lists as tensors, float64 if they hold real numbers; other arguments as they are."""
    if isinstance(value, Gaussian):
        return Gaussian(*map(numbers, value))
    if not isinstance(value, list):
        return value
    tensor = torch.tensor(value)
    return tensor.double() if tensor.is_floating_point() else tensor


def gae(end: str, lam: float, *expected: float) -> Any:
    arguments = [[1.0, 1.0, 1.0]], *([one] for one in ENDS[end]), [[0.5, 0.4, 0.3, 0.2]], [[9.0, 5.0, 9.0]], 0.99, lam
    return pytest.param(ppo.advantages, arguments, [expected], None, id=f"advantages, {end}, {lam}")


def retrace(end: str, *expected: float) -> Any:
    q, values, finals, rho = [0.5, 1.0, 1.5], [0.4, 0.8, 1.2, 2.0], [7.0, 5.0, 5.0], [2.0, 0.5, 1.0]
    arguments = [1.0, 0.0, 2.0], *ENDS[end], q, values, finals, rho, 0.9
    return pytest.param(acer.retrace, arguments, expected, None, id=f"retrace, {end}")


def of_vtrace(end: str, rho: list[float], targets: list[float], advantages: list[float], *bars: float) -> Any:
    values, finals = [[0.5, 1.0, 1.5, 2.0]], [[0.0, 3.0 * (True in ENDS[end][1]), 0.0]]
    arguments = [[1.0, 0.0, 2.0]], *([one] for one in ENDS[end]), values, finals, [rho], 0.9, *bars
    return pytest.param(vtrace.vtrace, arguments, [[targets], [advantages]], None, id=f"V-trace, {end}, {rho}, {bars}")


def control(over: list[bool], *expected: float) -> Any:
    rewards, greedy = [[[1.0], [0.0], [2.0]]], [[[10.0], [20.0], [30.0], [4.0]]]
    first = len(expected)
    return pytest.param(
        lambda *parts: ftw.control_targets(*parts)[0, :first, 0], (rewards, [over], greedy, 0.5), expected, None,
        id=f"control, {over}",
    )  # fmt: skip


STOPPED, SECOND = 1 + 0.99 * 5 - 0.4, 1.0 + 0.5 * (0.9 * 3.0 - 1.0)
CUT = [0.5 + 2 * 1.4 + 0.9 * 0.5 * 1.21, 1.0 + 0.5 * 0.35 + 0.9 * 0.5 * 2.3, 3.8]
USUAL, TARGET = [2.0, 0.5, 1.0], [[10.0, 3.0, 4.0]]
# Two members, one state: the means are 2, 3.5, 2, so action 1 is best, although member 1 prefers action 0.
ENSEMBLE, ENSEMBLE_TARGET = [[[1.0, 5.0, 2.0]], [[3.0, 2.0, 2.0]]], [[[9.0, 4.0, 9.0]], [[9.0, 3.0, 0.0]]]
PICTURES = torch.zeros(1, 2, 6, 10, 3, dtype=torch.float64)
PICTURES[0, 1, 0] = 1.0  # above the cells
PICTURES[0, 1, 1:3, 1:3] = 0.5  # all of the first cell
PICTURES[0, 1, 4, 8, 0] = -1.0  # of the last one a pixel's first colour
PRIOR = Gaussian([[[0.1], [0.05], [9.0], [0.05]]], [[[0.2], [0.1], [0.1], [0.1]]])  # type: ignore[arg-type]


def kl(one: tuple[float, float], other: tuple[float, float], expected: float) -> Any:
    gaussians = (Gaussian([mean], [std]) for mean, std in (one, other))  # type: ignore[arg-type]
    return ftw.kl_divergence, tuple(gaussians), expected, None


FORMULAS: list[Any] = [
    # Shared
    (updates.entropy, ([[-math.log(11.0)] * 11],), [2.3978953], None),
    (
        lambda logits, teacher: updates.kickstarting_loss(logits.log_softmax(-1), teacher),
        ([[[math.log(0.25), math.log(0.75)], [math.log(0.8), math.log(0.2)]]], [[[0.5, 0.5], [1.0, 0.0]]]),
        (0.5 * 1.3862944 + 0.5 * 0.2876821 + 0.2231436) / 2, [[[-0.125, 0.125], [-0.1, 0.1]]],  # (π − π_T) / nk
    ),
    # PPO
    gae("no end", 0.95, 2.5339456, 1.741569, 0.898),
    gae("no end", 0.97, 2.5855032, 1.7593494, 0.898),
    gae("no end", 0.0, 1 + 0.99 * 0.4 - 0.5, 1 + 0.99 * 0.3 - 0.4, 1 + 0.99 * 0.2 - 0.3),
    gae("no end", 1.0, 1 + 0.99 + 0.99**2 + 0.99**3 * 0.2 - 0.5, 1 + 0.99 + 0.99**2 * 0.2 - 0.4, 0.898),
    gae("end", 0.95, 1 + 0.99 * 0.4 - 0.5 + 0.99 * 0.95 * 0.6, 0.6, 0.898),
    gae("time limit", 0.95, 1 + 0.99 * 0.4 - 0.5 + 0.99 * 0.95 * STOPPED, STOPPED, 0.898),
    gae("end at the time limit", 0.95, 1.4602999, 0.6, 0.898),
    (ppo.clipped_surrogate, ([1.5], [1.0], 0.2), [1.2], [0.0]),
    (ppo.clipped_surrogate, ([1.5], [-1.0], 0.2), [-1.5], [-1.0]),
    (ppo.clipped_surrogate, ([0.5], [1.0], 0.2), [0.5], [1.0]),
    (ppo.clipped_surrogate, ([0.5], [-1.0], 0.2), [-0.8], [0.0]),
    (ppo.kl_estimate, ([0.0] * 5,), 0.0, None),
    (ppo.kl_estimate, ([LOG2],), 1 - LOG2, None),
    (ppo.value_loss, ([1.0, 2.0], [0.0, 4.0]), 2.5, [1.0, -2.0]),
    # V-trace
    of_vtrace("no end", USUAL, [2.989, 2.21, 3.8], [2.489, 1.21, 2.3]),
    of_vtrace("no end", [1.0, 1.0, 1.0], [4.078, 3.42, 3.8], [3.578, 2.42, 2.3]),  # returns of n steps
    of_vtrace("end", USUAL, [1.45, 0.5, 3.8], [0.95, -0.5, 2.3]),
    of_vtrace("time limit", USUAL, [1 + 0.9 * SECOND, SECOND, 3.8], [0.5 + 0.9 * SECOND, SECOND - 1.0, 2.3]),
    of_vtrace("end at the time limit", USUAL, [1.45, 0.5, 3.8], [0.95, -0.5, 2.3]),
    of_vtrace("no end", [9.0, 0.5, 1.0], [2.989, 2.21, 3.8], [2.489, 1.21, 2.3]),
    of_vtrace("no end", USUAL, CUT, [2 * (1 + 0.9 * CUT[1] - 0.5), 1.21, 2.3], 2.0, 0.5),
    (vtrace.policy_loss, ([[-1.0, -2.0]], [[3.0, -1.0]]), (3.0 - 2.0) / 2, [[-1.5, 0.5]]),
    (vtrace.value_loss, ([1.0, 2.0], [2.0, 4.0]), 2.5, [-1.0, -2.0]),
    # DQN: double, plain, terminal
    (dqn.double_target, ([1.0], [0.99], [[1.0, 5.0, 2.0]], TARGET), [3.97], None),
    (dqn.double_target, ([1.0], [0.99], TARGET, TARGET), [10.9], None),
    (dqn.double_target, ([1.0], [0.0], TARGET, TARGET), [1.0], None),
    (dqn.huber, ([0.5, -0.5, 2.0, -2.0, 1.0],), [0.125, 0.125, 1.5, 1.5, 0.5], [0.5, -0.5, 1.0, -1.0, 1.0]),
    (dqn.weighted_mean, ([1.0, 3.0], [1.0, 0.5]), 1.25, [0.5, 0.25]),  # not mean × mean = 1.5
    (dqn.margin_loss, ([[1.0, 2.0, 1.5]], [2], 0.8), [1.3], [[0.0, 1.0, -1.0]]),
    (dqn.margin_loss, ([[1.0, 2.0, 1.5]], [1], 0.8), [0.3], [[0.0, -1.0, 1.0]]),
    (dqn.margin_loss, ([[1.0, 2.0, 1.5]], [1], 0.4), [0.0], [[0.0, 0.0, 0.0]]),
    # RLPD
    (rlpd.subset_target, ([1.0], [0.5], ENSEMBLE, ENSEMBLE_TARGET, [0, 1]), [2.5], None),
    (rlpd.subset_target, ([1.0], [0.5], ENSEMBLE, ENSEMBLE_TARGET, [0]), [3.0], None),
    (rlpd.subset_target, ([1.0], [0.5], ENSEMBLE, ENSEMBLE_TARGET, [1]), [2.5], None),
    (rlpd.subset_target, ([1.0], [0.0], ENSEMBLE, ENSEMBLE_TARGET, [0]), [1.0], None),
    (
        rlpd.ensemble_loss, ([[1.0, 2.0], [0.0, 0.0]], [2.0, 4.0]),
        (0.5 * (1 + 4) + 0.5 * (4 + 16)) / 2, [[-0.5, -1.0], [-1.0, -2.0]],
    ),
    # ACER. A step that stops at t = 1 with V = 5: 0 + 0.9·5, and before it 1 + 0.9·(0.5·(4.5 − 1) + 0.8).
    retrace("no end", 2.6875, 3.15, 3.8),
    retrace("end", 1.27, 0.0, 3.8),
    retrace("time limit", 3.295, 4.5, 3.8),
    retrace("end at the time limit", 1.27, 0.0, 3.8),
    retrace("cut at a time limit", 3.781, 5.58, 2 + 0.9 * 5),
    retrace("end of the sequence", 1.9585, 1.53, 2.0),
    (acer.importance_weights, ([0.5, 0.3, 0.2], [0.02, 0.9, 0.08], 0.0), [25, 1 / 3, 2.5], None),
    # With respect to π: 46 − 0.42 for the action taken, whose advantages are 4 − 1.7 and 1 − 1.7; 0 for the others.
    (
        lambda *parts: acer.policy_gradient(*parts, epsilon=0.0),
        ([0.5, 0.3, 0.2], [0.02, 0.9, 0.08], torch.tensor(0), [1.0, 2.0, 3.0], torch.tensor(1.7).double(),
         torch.tensor(4.0).double(), 10.0, 0.0), [11.395, -6.837, -4.558], None,
    ),
    (acer.critic_loss, ([1.0, 2.0], [3.0, 2.5]), 0.5 * (4.0 + 0.25) / 2, [-1.0, -0.25]),
    (acer.imitation_weight, ([3.0, 2.0, 1.5, 1.0, 0.0, -5.0], 2.0, 2.0), [1.0, 1.0, 0.75, 0.5, 0.0, 0.0], None),
    # ½·0.95 − 0.25 for even odds; ½·(0.8 − 1) for an action of probability 0.8, with half of the weight.
    (
        acer.imitation_loss, ([[0.0, 0.0], [2 * LOG2, 0.0]], [[0.25, 0.7], [1.0, 0.0]], [1.0, 0.5]),
        (0.95 * LOG2 - 0.5 * math.log(0.8)) / 2, [[0.1125, -0.1125], [-0.05, 0.05]],
    ),
    # For The Win
    kl((0.1, 0.2), (0.0, 0.1), 1.3068528),
    kl((0.05, 0.1), (0.0, 0.1), 0.125),
    kl((0.3, 0.7), (0.3, 0.7), 0.0),
    kl((0.0, 0.1), (0.1, 0.2), LOG2 + 0.02 / 0.08 - 0.5),  # not symmetric
    (ftw.prior_loss, (PRIOR, [[YES, NO, NO, YES]]), (1.3068528 + 0.125) / 4, None),
    (ftw.changes, ([[[1.0, 5.0], [0.0, 5.5], [2.0, 5.0]]],), [[[1.0, 0.5], [2.0, 0.5]]], None),
    (ftw.changes_of_cells, (PICTURES, 2, (2, 4)), [[[0.5, 0, 0, 0, 0, 0, 0, 1 / 12]]], None),
    control([NO, NO, NO], 2.0, 2.0, 4.0),
    # Before an episode's last decision a return ends in the value of its state; nothing of the next is counted.
    control([NO, YES, NO], 1.0 + 0.5 * 20.0),
    control([NO, NO, YES], 1.0 + 0.5 * 15.0, 0.5 * 30.0),
    (
        ftw.control_loss,
        ([[[[0.0, 0.0], [1.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]], [[5.0, 5.0], [0.0, 0.0]]]], [[1, 0, 0]],
         [[[3.0, 2.0], [99.0, 99.0], [5.0, 4.0]]], [[NO, YES, NO]]),
        (0.5 * 2.0 + 0.5 * 0.5) / 2,
        [[[[0, 0], [-0.5, 0]], [[0, 0], [0, 0]], [[0, 0.25], [0, 0]]]],
    ),
    (ftw.control_loss, ([[[[1.0], [1.0]]]], [[0]], [[[1.0]]], [[YES]]), 0.0, None),  # where every step ends an episode
    (ftw.reward_classes, ([0.0, 0.3, -2.0, -0.0],), [ftw.ZERO, ftw.POSITIVE, ftw.NEGATIVE, ftw.ZERO], None),
    (
        ftw.reward_prediction_loss, ([[math.log(one) for one in row] for row in ([0.2, 0.5, 0.3], [0.9, 0.05, 0.05])],
                                     [1, 0]), -(math.log(0.5) + math.log(0.9)) / 2, None,
    ),
]  # fmt: skip
"""Formula, arguments, its value, and the value's slopes along the first argument."""


@pytest.mark.parametrize(("formula", "arguments", "expected", "slopes"), FORMULAS)
def test_formula(formula: Callable[..., Any], arguments: tuple[Any, ...], expected: Any, slopes: Any) -> None:
    tensors = [*map(numbers, arguments)]
    if slopes is not None:
        tensors[0].requires_grad_()
    value = formula(*tensors)
    found = torch.stack([*value]) if isinstance(value, tuple) else value
    np.testing.assert_allclose(found.detach(), np.array(expected), rtol=1e-6, atol=1e-6)
    if slopes is not None:
        (gradient,) = torch.autograd.grad(found.sum(), tensors[0])
        np.testing.assert_allclose(gradient, np.array(slopes), rtol=1e-6, atol=1e-9)


def test_targets_carry_no_gradient() -> None:
    leaf = torch.ones(2, 3, 3, requires_grad=True)
    row, over, index = leaf[0], torch.zeros(3, 3, dtype=torch.bool), torch.tensor([0])
    assert not dqn.double_target(row[0], row[0], row, row).requires_grad
    assert not rlpd.subset_target(row[0], row[0], leaf, leaf, index).requires_grad
    assert not any(one.requires_grad for one in vtrace.vtrace(row, over, over, torch.ones(3, 4), row, row, 0.9))


def test_the_posterior_is_drawn_to_the_prior_and_the_prior_to_the_posterior() -> None:
    parts = [torch.tensor([[[one]]], requires_grad=True) for one in (0.1, 0.2, 0.0, 0.1)]
    ftw.posterior_loss(Gaussian(*parts[:2]), Gaussian(*parts[2:])).backward()
    assert [float(parts[number].grad) for number in (0, 2)] == pytest.approx([10.0, -10.0])  # (μ − m)/s²


# ACER's trust region and its fit of values


def doubles(values: Any) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float64)


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
def test_only_states_within_reach_of_the_trust_region_can_be_limited(seed: int) -> None:
    random = np.random.default_rng(seed)
    pi, average = (doubles(random.dirichlet(np.full(4, 0.1))) for _ in range(2))
    g = doubles(random.normal(size=4) * random.choice([0.1, 1.0]))
    _, limited = acer.to_trust_region(g, pi, average, 0.5)
    assert acer.within_reach(g, 0.5) or not limited


@pytest.mark.parametrize(
    ("pi", "mu", "action", "most"),
    [([1.0, 0.0], [0.0, 1.0], 0, math.inf), ([0.6, 0.4 - 1e-5, 1e-5], [0.6, 0.4 - 1e-5, 1e-5], 2, 1.1)],
    ids=["that the behaviour never takes", "that is all but impossible, which goes badly"],
)
def test_an_action_leaves_the_gradient_in_bounds(pi: list[float], mu: list[float], action: int, most: float) -> None:
    q, one = torch.zeros(len(pi), dtype=torch.float64), torch.tensor(action)
    g = acer.policy_gradient(doubles(pi), doubles(mu), one, q, doubles(0.0), doubles(-1.0), 10.0, 0.1)
    z, _ = acer.to_trust_region(g, doubles(pi), doubles([0.5, *[0.5 / (len(pi) - 1)] * (len(pi) - 1)]), 1.0)
    assert torch.isfinite(z).all()
    assert z.abs().max() < most


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
