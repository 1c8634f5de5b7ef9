"""The formulas of PPO, against numbers worked out by hand."""

from typing import Any

import pytest
import torch
from qwop.finetune.agents.ppo import losses as ppo

STOPPED = 1 + 0.99 * 5 - 0.4


@pytest.mark.parametrize(
    ("lam", "ends", "expected"),
    [
        (0.95, {}, [2.5339456, 1.741569, 0.898]),
        (0.97, {}, [2.5855032, 1.7593494, 0.898]),
        (0.0, {}, [1 + 0.99 * 0.4 - 0.5, 1 + 0.99 * 0.3 - 0.4, 1 + 0.99 * 0.2 - 0.3]),
        (1.0, {}, [1 + 0.99 + 0.99**2 + 0.99**3 * 0.2 - 0.5, 1 + 0.99 + 0.99**2 * 0.2 - 0.4, 0.898]),
        (0.95, {"terminated": (0, 1, 0)}, [1 + 0.99 * 0.4 - 0.5 + 0.99 * 0.95 * 0.6, 0.6, 0.898]),
        (0.95, {"truncated": (0, 1, 0)}, [1 + 0.99 * 0.4 - 0.5 + 0.99 * 0.95 * STOPPED, STOPPED, 0.898]),
        (0.95, {"terminated": (0, 1, 0), "truncated": (0, 1, 0)}, [1.4602999, 0.6, 0.898]),
    ],
    ids=["generalised", "generalised more", "one step", "returns", "end", "time limit", "end at the time limit"],
)
def test_advantages(lam: float, ends: dict[str, Any], expected: list[float]) -> None:
    rewards, values, final = (
        torch.tensor([row], dtype=torch.float64) for row in ([1.0, 1.0, 1.0], [0.5, 0.4, 0.3, 0.2], [9, 5, 9])
    )
    over = (torch.tensor([ends.get(name, (0, 0, 0))], dtype=torch.bool) for name in ("terminated", "truncated"))
    found = ppo.advantages(rewards, *over, values, final, 0.99, lam)[0]
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("ratio", "advantage", "gain", "slope"),
    [(1.5, 1.0, 1.2, 0.0), (1.5, -1.0, -1.5, -1.0), (0.5, 1.0, 0.5, 1.0), (0.5, -1.0, -0.8, 0.0)],
)
def test_the_surrogate_is_clipped_where_it_would_promise_more(
    ratio: float, advantage: float, gain: float, slope: float
) -> None:
    leaf = torch.tensor(ratio, requires_grad=True)
    found = ppo.clipped_surrogate(leaf, torch.tensor(advantage), 0.2)
    assert found.item() == pytest.approx(gain)
    assert torch.autograd.grad(found, leaf)[0].item() == slope


def test_entropy_and_kl() -> None:
    uniform = torch.log_softmax(torch.zeros(2, 11), dim=-1)
    assert ppo.entropy(uniform).tolist() == pytest.approx([2.3978953] * 2)
    assert float(ppo.kl_estimate(torch.zeros(5))) == 0.0
    assert float(ppo.kl_estimate(torch.log(torch.tensor([2.0])))) == pytest.approx(1 - 0.6931472)
    assert float(ppo.value_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))) == 2.5
