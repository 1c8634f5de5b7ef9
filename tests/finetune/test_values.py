import pytest
import torch
from qwop.finetune.values import lstd


def test_lstd_finds_the_values_of_a_chain():
    # s0 → s1 (reward 1) → s2 (reward 2) → end (reward 4); γ = 0.5: V = 1 + 0.5·(2 + 0.5·4), 2 + 0.5·4, 4.
    phi = torch.eye(3).repeat(50, 1)
    following = torch.roll(torch.eye(3), -1, dims=0)
    following[2] = 0.0
    w = lstd(phi, following.repeat(50, 1), torch.tensor([1.0, 2.0, 4.0]).repeat(50), gamma=0.5)
    assert w.tolist() == pytest.approx([3.0, 4.0, 4.0], rel=1e-3)


def test_features_that_never_vary_do_no_harm():
    phi = torch.cat([torch.randn(100, 2), torch.zeros(100, 3)], dim=1)
    assert torch.isfinite(lstd(phi, phi.roll(-1, 0), torch.ones(100), gamma=0.9)).all()
