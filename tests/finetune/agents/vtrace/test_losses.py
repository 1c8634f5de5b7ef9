"""The V-trace formulas, on numbers worked out by hand."""

import pytest
import torch
from qwop.finetune.agents.vtrace import losses

REWARDS, VALUES, RHO = [1.0, 0.0, 2.0], [0.5, 1.0, 1.5, 2.0], [2.0, 0.5, 1.0]


def vtrace(
    rho: list[float] = RHO,
    terminated: tuple[int, ...] = (),
    truncated: tuple[int, ...] = (),
    final: float = 0.0,
    **more: float,
) -> tuple[list[float], list[float]]:
    ends = torch.zeros(2, 1, 3, dtype=torch.bool)
    ends[0, 0, list(terminated)] = ends[1, 0, list(truncated)] = True
    final_values = torch.where(ends[1], final, 0.0)
    found = losses.vtrace(
        torch.tensor([REWARDS]), ends[0], ends[1], torch.tensor([VALUES], requires_grad=True), final_values,
        torch.tensor([rho]), 0.9, **more,
    )  # fmt: skip
    assert not found.targets.requires_grad
    assert not found.advantages.requires_grad
    return found.targets[0].tolist(), found.advantages[0].tolist()


def test_targets_and_advantages() -> None:
    targets, advantages = vtrace()
    assert targets == pytest.approx([2.989, 2.21, 3.8])
    assert advantages == pytest.approx([2.489, 1.21, 2.3])


def test_on_policy_targets_are_returns_of_n_steps() -> None:
    assert vtrace(rho=[1.0, 1.0, 1.0])[0] == pytest.approx([4.078, 3.42, 3.8])


def test_nothing_passes_the_end_of_an_episode() -> None:
    targets, advantages = vtrace(terminated=(1,))
    assert targets == pytest.approx([1.45, 0.5, 3.8])
    assert advantages == pytest.approx([1 + 0.9 * 0.5 - 0.5, 0.5 * (0 - 1.0), 2.3])


def test_a_time_limit_is_bootstrapped_from_what_it_stopped_at() -> None:
    targets, advantages = vtrace(truncated=(1,), final=3.0)
    second = 1.0 + 0.5 * (0.9 * 3.0 - 1.0)
    assert targets == pytest.approx([1.0 + 0.9 * second, second, 3.8])
    assert advantages[1] == pytest.approx(0.5 * (0.9 * 3.0 - 1.0))


def test_a_fall_at_the_time_limit_has_no_value() -> None:
    assert vtrace(terminated=(1,), truncated=(1,), final=3.0) == vtrace(terminated=(1,))


def test_weights_are_cut_off_at_their_bounds() -> None:
    assert vtrace(rho=[9.0, 0.5, 1.0]) == vtrace()
    targets, advantages = vtrace(rho_bar=2.0, c_bar=0.5)
    assert targets[2] == pytest.approx(3.8)
    assert targets[1] == pytest.approx(1.0 + 0.5 * 0.35 + 0.9 * 0.5 * 2.3)
    assert targets[0] == pytest.approx(0.5 + 2 * (1 + 0.9 - 0.5) + 0.9 * 0.5 * (targets[1] - 1.0))
    assert advantages[0] == pytest.approx(2 * (1 + 0.9 * targets[1] - 0.5))


def test_losses() -> None:
    log_pi = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    loss = losses.policy_loss(log_pi, torch.tensor([[3.0, -1.0]]))
    assert loss.item() == pytest.approx((3.0 - 2.0) / 2)
    (gradient,) = torch.autograd.grad(loss, log_pi)
    assert gradient.tolist() == [[-1.5, 0.5]]
    assert losses.value_loss(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0])).item() == pytest.approx(2.5)
