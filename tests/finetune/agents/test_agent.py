"""Parts that agents share: counters, discounts, scales, values at time limits, a teacher's loss, optimisers."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.agent import FractionalCounter, LiveAgent
from qwop.finetune.agents.updates import RMSprop, final_values, take_step
from qwop.finetune.log import RunLog

from ..fakes import CPU, make_batch, make_sequences
from ..runs import NOW
from .learners import ppo


@given(st.lists(st.floats(0, 50), max_size=50))
def test_nothing_is_lost_or_given_twice(amounts: list[float]) -> None:
    due, whole = FractionalCounter(), 0
    for number, amount in enumerate(amounts, 1):
        whole += due.take(amount)
        assert sum(amounts[:number]) - 1 - 1e-9 < whole <= sum(amounts[:number]) + 1e-9


def test_the_discount_keeps_its_horizon_in_seconds_and_stays_where_no_rate_is_known() -> None:
    settings = AcerSettings(gamma=0.99, gamma_rate=9.0)
    assert settings.gamma_at(None) == settings.gamma_at(9.0) == 0.99
    assert settings.gamma_at(25.0) == pytest.approx(0.9964, abs=5e-5)
    assert settings.gamma_at(18.0) ** 18 == pytest.approx(0.99**9)


def test_statistics_that_a_network_came_with_stay() -> None:
    small = ppo()
    small.learner.network.scaler.fit(np.array([[1.0, 2.0], [3.0, 6.0]], dtype=np.float32))
    for number in (0, 1):
        small.update(number, NOW)
    assert small.learner.network.scaler.mean.tolist() == [2.0, 4.0]


def test_an_update_on_live_play_is_logged() -> None:
    log = RunLog(Path())
    LiveAgent(ppo().learner, log).learn(make_batch(0), NOW)
    assert "learner/kl" in log.row()


def test_values_stand_at_the_steps_that_time_limits_ended() -> None:
    batch = make_sequences(5, shape=(2, 3), truncated_every=2)
    found = final_values(batch, lambda rows: rows[:, 4], CPU)  # whatever the shape, in rows
    expected = torch.zeros(5, 4)
    for sequence, step, seen in zip(*batch.finals, strict=True):
        expected[int(sequence), int(step)] = float(seen[1, 1])
    assert torch.equal(found, expected)
    assert (found != 0).sum() == 3
    assert not final_values(make_sequences(3), lambda rows: 1 / 0, CPU).any()  # where nothing is to be valued


def test_the_first_steps_are_those_of_tensorflow() -> None:
    theta = torch.ones(1, dtype=torch.float64, requires_grad=True)
    optimiser = RMSprop([theta], lr=7e-4, decay=0.99, epsilon=1e-5)
    steps = []
    for _ in range(3):
        theta.grad = torch.full_like(theta, 0.1)
        optimiser.step()
        steps.append(theta.item())
    assert steps == pytest.approx([0.99992965, 0.99985895, 0.99978790], abs=1e-8)


def test_one_pass_over_the_parameters_gives_the_same_but_for_rounding() -> None:
    random = torch.Generator().manual_seed(0)
    start = [torch.randn(shape, generator=random) for shape in ((5, 3), (7,), (2,))]
    plain, fused = [one.double().requires_grad_() for one in start], [one.clone().requires_grad_() for one in start]
    optimisers = RMSprop(plain, 0.1, 0.9, 1e-5), RMSprop(fused, 0.1, 0.9, 1e-5)
    for number in range(6):
        for one, other in zip(plain[: number + 1], fused[: number + 1], strict=True):
            other.grad = torch.randn(one.shape, generator=random)
            one.grad = other.grad.double()
        for optimiser in optimisers:
            optimiser.param_groups[0]["lr"] = 0.1 / (number + 1)
            optimiser.step()
        for one, other in zip(plain, fused, strict=True):
            torch.testing.assert_close(one.float(), other, rtol=1e-6, atol=1e-6)
        if number == 3:  # resumed
            optimisers = optimisers[0], RMSprop(fused, 0.1, 0.9, 1e-5)
            optimisers[1].load_state_dict(copy.deepcopy(optimisers[0].state_dict()))
    assert not any(torch.equal(one, other) for one, other in zip(start, fused, strict=True))


def test_averages_of_a_dead_unit_fade_without_passing_through_denormals() -> None:
    theta = torch.ones(1, requires_grad=True)
    adam = torch.optim.Adam([theta], fused=True)
    means = []
    for number in range(2000):
        theta.grad = torch.full_like(theta, 1e-20 * (number == 0))
        take_step(adam, 0.1)
        means.append(adam.state[theta]["exp_avg"].abs().item())
    smallest = torch.finfo(torch.float32).tiny
    assert means[0] > smallest
    assert not any(0 < one < smallest for one in means)
    assert (torch.tensor(smallest) / 2).item() > 0  # elsewhere they stay
