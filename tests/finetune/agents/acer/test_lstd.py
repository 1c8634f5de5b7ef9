import pytest
import torch
from qwop.finetune.agents.acer import losses as values
from torch import Tensor


@pytest.fixture(autouse=True)
def little_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "RIDGE", 1e-9)


def with_one(features: Tensor) -> Tensor:
    return torch.cat([features, torch.ones_like(features[:, :1])], dim=1)


def test_lstd_finds_the_values_of_a_chain() -> None:
    # s0 → s1 (reward 1) → s2 (reward 2) → end (reward 4); γ = 0.5: V = 1 + 0.5·(2 + 0.5·4), 2 + 0.5·4, 4.
    states = with_one(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    following = torch.stack([states[1], states[2], torch.zeros(3)])
    w = values.lstd(states.repeat(50, 1), following.repeat(50, 1), torch.tensor([1.0, 2.0, 4.0]).repeat(50), gamma=0.5)
    assert (states.double() @ w).tolist() == pytest.approx([3.0, 4.0, 4.0], rel=1e-6)


def test_a_strong_ridge_leaves_the_mean_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "RIDGE", 1e6)
    phi = with_one(torch.randn(2000, 3, generator=torch.Generator().manual_seed(0)))
    w = values.lstd(phi, phi.roll(-1, 0), torch.ones(2000), gamma=0.9)
    assert w.tolist() == pytest.approx([0, 0, 0, 10], abs=1e-2)


def test_features_that_never_vary_or_vary_together_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "RIDGE", 0.03)
    column = torch.randn(100, 1)
    phi = with_one(torch.cat([column, column, torch.zeros(100, 3)], dim=1))
    w = values.lstd(phi, phi.roll(-1, 0), torch.ones(100), gamma=0.9)
    assert w.abs().max() < 20
    assert torch.isfinite(
        values.lstd(with_one(torch.zeros(100, 2)), with_one(torch.zeros(100, 2)), torch.ones(100), 0.9)
    ).all()
