"""The V-trace formulas, on numbers worked out by hand."""

from typing import Any

import pytest
import torch
from qwop.finetune.agents.vtrace import losses

SECOND = 1.0 + 0.5 * (0.9 * 3.0 - 1.0)
CUT = [0.5 + 2 * 1.4 + 0.9 * 0.5 * (1.21), 1.0 + 0.5 * 0.35 + 0.9 * 0.5 * 2.3, 3.8]


@pytest.mark.parametrize(
    ("changed", "targets", "advantages"),
    [
        ({}, [2.989, 2.21, 3.8], [2.489, 1.21, 2.3]),
        ({"rho": [1.0, 1.0, 1.0]}, [4.078, 3.42, 3.8], [3.578, 2.42, 2.3]),  # returns of n steps
        ({"terminated": [1]}, [1.45, 0.5, 3.8], [0.95, -0.5, 2.3]),
        ({"truncated": [1]}, [1 + 0.9 * SECOND, SECOND, 3.8], [0.5 + 0.9 * SECOND, 0.5 * (0.9 * 3.0 - 1.0), 2.3]),
        ({"terminated": [1], "truncated": [1]}, [1.45, 0.5, 3.8], [0.95, -0.5, 2.3]),  # a fall at the time limit
        ({"rho": [9.0, 0.5, 1.0]}, [2.989, 2.21, 3.8], [2.489, 1.21, 2.3]),
        ({"rho_bar": 2.0, "c_bar": 0.5}, CUT, [2 * (1 + 0.9 * CUT[1] - 0.5), 1.21, 2.3]),
    ],
    ids=["plain", "on policy", "end", "time limit", "end at the time limit", "a large weight", "other bounds"],
)
def test_targets_and_advantages(changed: dict[str, Any], targets: list[float], advantages: list[float]) -> None:
    more = {"rho": [2.0, 0.5, 1.0], "terminated": [], "truncated": [], **changed}
    rho, ends = more.pop("rho"), torch.zeros(2, 1, 3, dtype=torch.bool)
    ends[0, 0, more.pop("terminated")] = ends[1, 0, more.pop("truncated")] = True
    rewards, values = torch.tensor([[1.0, 0.0, 2.0]]), torch.tensor([[0.5, 1.0, 1.5, 2.0]], requires_grad=True)
    finals = torch.where(ends[1], 3.0, 0.0)
    found = losses.vtrace(rewards, ends[0], ends[1], values, finals, torch.tensor([rho]), 0.9, **more)
    assert not any(one.requires_grad for one in found)
    assert found.targets[0].tolist() == pytest.approx(targets)
    assert found.advantages[0].tolist() == pytest.approx(advantages)


def test_losses() -> None:
    log_pi = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    loss = losses.policy_loss(log_pi, torch.tensor([[3.0, -1.0]]))
    assert loss.item() == pytest.approx((3.0 - 2.0) / 2)
    (gradient,) = torch.autograd.grad(loss, log_pi)
    assert gradient.tolist() == [[-1.5, 0.5]]
    assert losses.value_loss(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0])).item() == pytest.approx(2.5)
