import copy

import pytest
import torch
from qwop.finetune.agents.optimisers import FusedAdam, RMSprop, move_towards
from torch import Tensor, nn


def test_the_first_steps_are_those_of_tensorflow() -> None:
    theta = torch.ones(1, dtype=torch.float64, requires_grad=True)
    optimiser = RMSprop([theta], lr=7e-4, decay=0.99, epsilon=1e-5)
    seen = []
    for _ in range(3):
        theta.grad = torch.full_like(theta, 0.1)
        optimiser.step()
        seen.append(theta.item())
    assert seen == pytest.approx([0.99992965, 0.99985895, 0.99978790], abs=1e-8)


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


def test_the_average_network_moves_by_one_hundredth() -> None:
    average, network = nn.Linear(3, 2), nn.Linear(3, 2)
    before = [parameter.clone() for parameter in average.parameters()]
    move_towards(list(average.parameters()), list(network.parameters()), 0.01)
    for old, new, target in zip(before, average.parameters(), network.parameters(), strict=True):
        assert torch.allclose(new, 0.99 * old + 0.01 * target)


def test_adams_averages_of_a_dead_unit_fade_without_passing_through_denormals() -> None:
    theta = torch.ones(1, requires_grad=True)
    adam = FusedAdam([theta], 0.1, 1e-5)
    seen = []
    for number in range(2000):
        theta.grad = torch.full_like(theta, 1e-20 * (number == 0))
        adam.step()
        seen.append(adam.state[theta]["exp_avg"].abs().item())
    smallest = torch.finfo(torch.float32).tiny
    assert seen[0] > smallest
    assert not any(0 < one < smallest for one in seen)
    assert seen[-1] <= 10 * smallest  # where a tenth of it is flushed to 0 in a step of its own, it stays
    assert (torch.tensor(smallest) / 2).item() > 0  # elsewhere they stay


def test_adam_takes_pytorchs_steps_to_the_bit_and_shares_its_state() -> None:
    def weights() -> list[Tensor]:
        generator = torch.Generator().manual_seed(0)
        return [torch.randn(shape, generator=generator).requires_grad_() for shape in ((3, 2), (2,), (4,))]

    mine, theirs, resumed = weights(), weights(), weights()
    adam = FusedAdam(mine, 0.1, 1e-5)
    reference, other = torch.optim.Adam(theirs, 0.1, eps=1e-5, fused=True), FusedAdam(resumed, 0.1, 1e-5)
    for number in range(6):
        for optimiser, every in ((adam, mine), (reference, theirs), (other, resumed)):
            for place, one in enumerate(every):  # the last has its first gradient later
                one.grad = None if place == 2 and number < 2 else torch.full_like(one, 0.3 * (number - place))
            optimiser.param_groups[0]["lr"] = 0.1 / (number + 1)
            optimiser.step()
        other.load_state_dict(copy.deepcopy(reference.state_dict()))
    for one, another, third in zip(mine, theirs, resumed, strict=True):
        assert torch.equal(one, another)
        assert torch.equal(one, third)
