"""The formulas of DQN and its options against numbers worked out by hand."""

import pytest
import torch
from qwop.finetune.agents.dqn import losses as dqn

TARGET = torch.tensor([[10.0, 3.0, 4.0]])


@pytest.mark.parametrize(
    ("online", "discount", "expected"),
    [(torch.tensor([[1.0, 5.0, 2.0]]), 0.99, 3.97), (TARGET, 0.99, 10.9), (TARGET, 0.0, 1.0)],
    ids=["double", "plain", "terminal"],
)
def test_a_target_takes_the_online_networks_action_and_the_target_networks_value(
    online: torch.Tensor, discount: float, expected: float
) -> None:
    y = dqn.double_target(torch.tensor([1.0]), torch.tensor([discount]), online, TARGET)
    assert y.item() == pytest.approx(expected)


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


@pytest.mark.parametrize(("demonstrated", "margin", "loss"), [(2, 0.8, 1.3), (1, 0.8, 0.3), (1, 0.4, 0.0)])
def test_the_margin_by_which_a_demonstrated_action_is_to_be_ahead(
    demonstrated: int, margin: float, loss: float
) -> None:
    q = torch.tensor([[1.0, 2.0, 1.5]])
    assert dqn.margin_loss(q, torch.tensor([demonstrated]), margin).item() == pytest.approx(loss)
