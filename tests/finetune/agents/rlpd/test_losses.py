"""RLPD's formulas, by numbers worked out by hand."""

import pytest
import torch
from qwop.finetune.agents.rlpd.losses import ensemble_loss, subset_target

ONLINE = torch.tensor([[[1.0, 5.0, 2.0]], [[3.0, 2.0, 2.0]]])
"""Two members, one state: the means are 2, 3.5, 2, so action 1 is best, although member 1 prefers action 0."""

TARGET = torch.tensor([[[9.0, 4.0, 9.0]], [[9.0, 3.0, 0.0]]])


@pytest.mark.parametrize(
    ("subset", "discount", "expected"), [([0, 1], 0.5, 2.5), ([0], 0.5, 3.0), ([1], 0.5, 2.5), ([0], 0.0, 1.0)]
)
def test_the_target_is_the_least_of_the_subset_for_the_best_action_of_the_mean(
    subset: list[int], discount: float, expected: float
) -> None:
    online, target = (one.clone().requires_grad_() for one in (ONLINE, TARGET))
    y = subset_target(torch.tensor([1.0]), torch.tensor([discount]), online, target, torch.tensor(subset))
    assert y.tolist() == [expected]
    assert not y.requires_grad


def test_each_member_has_the_squared_error_of_its_own() -> None:
    q = torch.tensor([[1.0, 2.0], [0.0, 0.0]], requires_grad=True)
    loss = ensemble_loss(q, torch.tensor([2.0, 4.0]))
    assert loss.item() == (0.5 * (1 + 4) + 0.5 * (4 + 16)) / 2
    (gradient,) = torch.autograd.grad(loss, q)
    assert gradient.tolist() == [[-0.5, -1.0], [-1.0, -2.0]]
