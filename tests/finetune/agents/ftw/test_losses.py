"""The formulas of the For The Win agent, on numbers worked out by hand."""

import math

import pytest
import torch
from qwop.finetune.agents.ftw import losses
from qwop.policies.two_timescale import Gaussian


def gaussian(mean: float, std: float, *shape: int) -> Gaussian:
    return Gaussian(torch.full((*shape, 1), mean), torch.full((*shape, 1), std))


@pytest.mark.parametrize(
    ("one", "other", "divergence"),
    [
        ((0.1, 0.2), (0.0, 0.1), 1.3068528),
        ((0.05, 0.1), (0.0, 0.1), 0.125),
        ((0.3, 0.7), (0.3, 0.7), 0.0),
        ((0.0, 0.1), (0.1, 0.2), math.log(2) + 0.02 / 0.08 - 0.5),  # not symmetric
    ],
)
def test_divergence_of_gaussians(one: tuple[float, float], other: tuple[float, float], divergence: float) -> None:
    found = losses.kl_divergence(gaussian(*one), gaussian(*other))
    assert found.item() == pytest.approx(divergence, abs=1e-6)


def test_the_posterior_is_drawn_to_the_prior_and_the_prior_to_the_posterior() -> None:
    posterior, prior = gaussian(0.1, 0.2, 1, 1), gaussian(0.0, 0.1, 1, 1)
    for one in (*posterior, *prior):
        one.requires_grad_()
    loss = losses.posterior_loss(posterior, prior)
    assert loss.item() == pytest.approx(1.3068528)
    loss.backward()
    assert posterior.mean.grad is not None
    assert prior.mean.grad is not None
    assert posterior.mean.grad.item() == pytest.approx(10.0)  # (μ − m)/s²
    assert prior.mean.grad.item() == pytest.approx(-10.0)


def test_the_prior_counts_where_the_slow_core_ticked() -> None:
    prior = Gaussian(torch.tensor([[[0.1], [0.05], [9.0], [0.05]]]), torch.tensor([[[0.2], [0.1], [0.1], [0.1]]]))
    ticked = torch.tensor([[True, False, False, True]])
    assert losses.prior_loss(prior, ticked).item() == pytest.approx((1.3068528 + 0.125) / 4)


def test_changes_are_of_the_same_number() -> None:
    seen = torch.tensor([[[1.0, 5.0], [0.0, 5.5], [2.0, 5.0]]])
    assert losses.changes(seen)[0].tolist() == [[1.0, 0.5], [2.0, 0.5]]


def test_changes_of_cells_are_means_within_the_middle_of_a_picture() -> None:
    pictures = torch.zeros(1, 2, 6, 10, 3)
    pictures[0, 1, 0] = 1.0  # above the cells
    pictures[0, 1, 1:3, 1:3] = 0.5  # all of the first cell
    pictures[0, 1, 4, 8, 0] = -1.0  # of the last one a pixel's first colour
    found = losses.changes_of_cells(pictures, 2, (2, 4))
    assert found.shape == (1, 1, 8)
    assert found[0, 0].tolist() == pytest.approx([0.5, 0, 0, 0, 0, 0, 0, 1 / 12])


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ([False, False, False], [2.0, 2.0, 4.0]),
        # Before an episode's last decision a return ends in the value of its state; nothing of the next is counted.
        ([False, True, False], [1.0 + 0.5 * 20.0]),
        ([False, False, True], [1.0 + 0.5 * 15.0, 0.5 * 30.0]),
    ],
)
def test_control_targets_are_n_step_returns_to_the_end_of_the_unroll(over: list[bool], expected: list[float]) -> None:
    rewards, greedy = torch.tensor([[[1.0], [0.0], [2.0]]]), torch.tensor([[[10.0], [20.0], [30.0], [4.0]]])
    found = losses.control_targets(rewards, torch.tensor([over]), greedy, 0.5)[0, :, 0].tolist()
    assert found[: len(expected)] == expected


def test_control_learns_from_the_actions_taken_in_steps_that_end_no_episode() -> None:
    q = torch.zeros(1, 3, 2, 2)
    q[0, 0, 1] = torch.tensor([1.0, 2.0])
    q[0, 2, 0] = torch.tensor([5.0, 5.0])
    q.requires_grad_()
    actions, over = torch.tensor([[1, 0, 0]]), torch.tensor([[False, True, False]])
    aims = torch.tensor([[[3.0, 2.0], [99.0, 99.0], [5.0, 4.0]]])
    loss = losses.control_loss(q, actions, aims, over)
    assert loss.item() == pytest.approx((0.5 * 2.0 + 0.5 * 0.5) / 2)
    loss.backward()
    assert q.grad is not None
    assert q.grad[0].nonzero().tolist() == [[0, 1, 0], [2, 0, 1]]


def test_no_control_is_learned_where_every_step_ends_an_episode() -> None:
    ones = torch.ones(1, 1, 2, 3)
    assert losses.control_loss(ones, torch.tensor([[0]]), ones[:, :, 0], torch.tensor([[True]])).item() == 0.0


def test_a_prediction_of_a_rewards_class_is_a_cross_entropy() -> None:
    classes = losses.reward_classes(torch.tensor([0.0, 0.3, -2.0, -0.0]))
    assert classes.tolist() == [losses.ZERO, losses.POSITIVE, losses.NEGATIVE, losses.ZERO]
    logits = torch.tensor([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05]]).log()
    loss = losses.reward_prediction_loss(logits, torch.tensor([1, 0]))
    assert loss.item() == pytest.approx(-(math.log(0.5) + math.log(0.9)) / 2)
