"""Imitation of a teacher."""

import pytest
import torch
from qwop.finetune.agents.losses import kickstarting_loss


def test_a_teacher_is_imitated_by_cross_entropy() -> None:
    teacher = torch.tensor([[[0.5, 0.5], [1.0, 0.0]]])
    logits = torch.tensor([[[0.25, 0.75], [0.8, 0.2]]]).log().requires_grad_()
    loss = kickstarting_loss(logits.log_softmax(-1), teacher)
    assert loss.item() == pytest.approx((0.5 * 1.3862944 + 0.5 * 0.2876821 + 0.2231436) / 2)
    (gradient,) = torch.autograd.grad(loss, logits)  # (π − π_T) / nk
    assert gradient.flatten().tolist() == pytest.approx([-0.125, 0.125, -0.1, 0.1])
