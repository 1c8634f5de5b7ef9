"""The formulas of DQN and its options against numbers worked out by hand."""

import pytest
import torch
from qwop.finetune.agents.dqn import losses as dqn
from qwop.finetune.agents.q_learning import linear


def test_a_double_target_takes_the_online_action_and_the_target_value() -> None:
    q_next, q_next_target = torch.tensor([[1.0, 5.0, 2.0]]), torch.tensor([[10.0, 3.0, 4.0]])
    reward = torch.tensor([1.0])
    assert dqn.double_target(reward, torch.tensor([0.99]), q_next, q_next_target).item() == pytest.approx(3.97)
    assert dqn.double_target(reward, torch.tensor([0.0]), q_next, q_next_target).item() == 1.0


def test_a_plain_target_takes_the_largest_target_value() -> None:
    q_next_target, reward = torch.tensor([[10.0, 3.0, 4.0]]), torch.tensor([1.0])
    assert dqn.double_target(reward, torch.tensor([0.99]), q_next_target, q_next_target).item() == pytest.approx(10.9)
    assert dqn.double_target(reward, torch.tensor([0.0]), q_next_target, q_next_target).item() == 1.0


def test_targets_carry_no_gradient() -> None:
    leaf = torch.ones(1, 3, requires_grad=True)
    assert not dqn.double_target(torch.ones(1), torch.ones(1), leaf, leaf).requires_grad
    assert not dqn.double_target(leaf[0, :1], torch.ones(1), torch.ones(1, 3), torch.ones(1, 3)).requires_grad


@pytest.mark.parametrize(("error", "loss"), [(0.5, 0.125), (-0.5, 0.125), (2.0, 1.5), (-2.0, 1.5), (1.0, 0.5)])
def test_huber(error: float, loss: float) -> None:
    assert dqn.huber(torch.tensor(error)).item() == pytest.approx(loss)


def test_every_sample_is_weighted_before_the_mean() -> None:
    losses, weights = torch.tensor([1.0, 3.0]), torch.tensor([1.0, 0.5])
    assert dqn.weighted_mean(losses, weights).item() == pytest.approx(1.25)  # not mean × mean = 1.5


@pytest.mark.parametrize(("demonstrated", "loss"), [(2, 1.3), (1, 0.3)])
def test_margin_loss(demonstrated: int, loss: float) -> None:
    q = torch.tensor([[1.0, 2.0, 1.5]])
    assert dqn.margin_loss(q, torch.tensor([demonstrated]), 0.8).item() == pytest.approx(loss)


def test_margin_loss_is_nothing_once_the_demonstrated_action_is_ahead_by_the_margin() -> None:
    assert dqn.margin_loss(torch.tensor([[1.0, 2.0]]), torch.tensor([1]), 0.8).item() == 0.0


def test_epsilon_and_beta_of_the_published_run() -> None:
    epsilon = [linear(0.01, 0.001, step / 60_000) for step in (0, 30_000, 60_000, 600_000)]
    assert epsilon == pytest.approx([0.01, 0.0055, 0.001, 0.001])
    assert [linear(0.4, 1.0, step / 600_000) for step in (0, 600_000)] == pytest.approx([0.4, 1.0])
