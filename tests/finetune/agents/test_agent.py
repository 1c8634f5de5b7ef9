"""Parts that agents share: counters, discounts, running scales, values at time limits, a teacher's loss."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from qwop.finetune.agents.acer.settings import AcerSettings
from qwop.finetune.agents.agent import FractionalCounter, RunningScale
from qwop.finetune.agents.losses import final_values, kickstarting_loss
from qwop.policies.networks import Actor

from ..fakes import CPU, make_sequences


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


def test_live_play_counts_before_the_first_update_and_after_later_ones() -> None:
    network = Actor(2, 3, (8,), torch.Generator().manual_seed(0))
    scale, one, two = RunningScale(network), make_sequences(2), make_sequences(2, first=10)
    rows = [played.observations[:, :-1].reshape(-1, 2) for played in (one, two)]
    for played, during, after in ((one, rows[0], rows[0]), (two, rows[0], np.concatenate(rows))):
        with scale.learning_from(played):
            np.testing.assert_allclose(network.scaler.mean, during.mean(0), rtol=1e-5)
        np.testing.assert_allclose(network.scaler.mean, after.mean(0), rtol=1e-5)


def test_statistics_that_a_network_came_with_stay() -> None:
    network = Actor(2, 3, (8,), torch.Generator().manual_seed(0))
    network.scaler.fit(np.array([[1.0, 2.0], [3.0, 6.0]], dtype=np.float32))
    scale = RunningScale(network)
    for first in (0, 10):
        with scale.learning_from(make_sequences(2, first=first)):
            pass
    assert network.scaler.mean.tolist() == [2.0, 4.0]


def test_values_stand_at_the_steps_that_time_limits_ended() -> None:
    batch = make_sequences(5, shape=(2, 3), truncated_every=2)
    found = final_values(batch, lambda rows: rows[:, 4], CPU)  # whatever the shape, in rows
    expected = torch.zeros(5, 4)
    for sequence, step, seen in zip(*batch.finals, strict=True):
        expected[int(sequence), int(step)] = float(seen[1, 1])
    assert torch.equal(found, expected)
    assert (found != 0).sum() == 3
    assert not final_values(make_sequences(3), lambda rows: 1 / 0, CPU).any()  # where nothing is to be valued


def test_a_teacher_is_imitated_by_cross_entropy() -> None:
    teacher = torch.tensor([[[0.5, 0.5], [1.0, 0.0]]])
    logits = torch.tensor([[[0.25, 0.75], [0.8, 0.2]]]).log().requires_grad_()
    loss = kickstarting_loss(logits.log_softmax(-1), teacher)
    assert loss.item() == pytest.approx((0.5 * 1.3862944 + 0.5 * 0.2876821 + 0.2231436) / 2)
    (gradient,) = torch.autograd.grad(loss, logits)  # (π − π_T) / nk
    assert gradient.flatten().tolist() == pytest.approx([-0.125, 0.125, -0.1, 0.1])
