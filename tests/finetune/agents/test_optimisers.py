import copy

import pytest
import torch
from qwop.finetune.agents.optimisers import RMSpropTF
from torch import Tensor


def test_the_first_steps_are_those_of_tensorflow() -> None:
    theta = torch.ones(1, dtype=torch.float64, requires_grad=True)
    optimiser = RMSpropTF([theta], lr=7e-4, decay=0.99, epsilon=1e-5)
    seen = []
    for _ in range(3):
        theta.grad = torch.full_like(theta, 0.1)
        optimiser.step()
        seen.append(theta.item())
    assert seen == pytest.approx([0.99992965, 0.99985895, 0.99978790], abs=1e-8)


def test_a_parameter_without_a_gradient_stays() -> None:
    moved, still = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    optimiser = RMSpropTF([moved, still])
    moved.grad = torch.ones(2)
    optimiser.step()
    assert still.tolist() == [1.0, 1.0]
    assert (moved < 1).all()


def test_its_state_can_be_saved_and_loaded() -> None:
    def steps(optimiser: RMSpropTF, theta: Tensor, count: int) -> None:
        for number in range(count):
            theta.grad = torch.tensor([0.1 * (number + 1), -2.0])
            optimiser.step()

    straight = torch.ones(2, requires_grad=True)
    optimiser = RMSpropTF([straight])
    steps(optimiser, straight, 3)
    resumed = straight.detach().clone().requires_grad_()
    other = RMSpropTF([resumed])
    other.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    steps(optimiser, straight, 2)
    steps(other, resumed, 2)
    assert torch.equal(straight, resumed)
