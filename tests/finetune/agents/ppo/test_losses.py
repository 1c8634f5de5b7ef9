"""The formulas of PPO, against numbers worked out by hand."""

import pytest
import torch
from qwop.finetune.agents.ppo import losses as ppo


def estimates(
    lam: float,
    gamma: float = 0.99,
    terminated: tuple[float, ...] = (0, 0, 0),
    truncated: tuple[float, ...] = (0, 0, 0),
    final: tuple[float, ...] = (0, 0, 0),
) -> list[float]:
    rows = [torch.tensor([values], dtype=torch.float64) for values in ([1.0, 1.0, 1.0], [0.5, 0.4, 0.3, 0.2], final)]
    ends = [torch.tensor([flags], dtype=torch.bool) for flags in (terminated, truncated)]
    return ppo.advantages(rows[0], *ends, rows[1], rows[2], gamma, lam)[0].tolist()


def test_generalised_advantages() -> None:
    assert estimates(0.95) == pytest.approx([2.5339456, 1.741569, 0.898], abs=1e-6)
    assert estimates(0.97) == pytest.approx([2.5855032, 1.7593494, 0.898], abs=1e-6)
    returns = [a + v for a, v in zip(estimates(0.97), [0.5, 0.4, 0.3], strict=True)]
    assert returns[2] == pytest.approx(1.198, abs=1e-6)
    assert [a + v for a, v in zip(estimates(0.97), (0.5, 0.4, 0.3), strict=True)][1] == pytest.approx(
        2.1593494, abs=1e-6
    )


def test_without_lambda_they_are_the_errors_of_one_step_and_with_all_of_it_the_returns() -> None:
    assert estimates(0.0) == pytest.approx([1 + 0.99 * 0.4 - 0.5, 1 + 0.99 * 0.3 - 0.4, 1 + 0.99 * 0.2 - 0.3])
    assert estimates(1.0)[0] == pytest.approx(1 + 0.99 + 0.99**2 + 0.99**3 * 0.2 - 0.5)


def test_nothing_follows_a_terminal_step_and_the_next_episode_does_not_matter() -> None:
    got = estimates(0.95, terminated=(0, 1, 0), final=(9, 9, 9))
    assert got == pytest.approx([1 + 0.99 * 0.4 - 0.5 + 0.99 * 0.95 * 0.6, 0.6, 0.898])


def test_a_time_limit_is_worth_what_it_stopped_at() -> None:
    got = estimates(0.95, truncated=(0, 1, 0), final=(9, 5, 9))
    stopped = 1 + 0.99 * 5 - 0.4
    assert got == pytest.approx([1 + 0.99 * 0.4 - 0.5 + 0.99 * 0.95 * stopped, stopped, 0.898])
    both = estimates(0.95, terminated=(0, 1, 0), truncated=(0, 1, 0), final=(9, 5, 9))
    assert both[1] == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("ratio", "advantage", "gain"), [(1.5, 1, 1.2), (1.5, -1, -1.5), (0.5, 1, 0.5), (0.5, -1, -0.8)]
)
def test_the_surrogate_is_clipped_where_it_would_promise_more(ratio: float, advantage: float, gain: float) -> None:
    got = ppo.clipped_surrogate(torch.tensor(ratio), torch.tensor(float(advantage)), 0.2)
    assert float(got) == pytest.approx(gain)


def test_a_clipped_step_has_no_gradient() -> None:
    ratio = torch.tensor([1.5, 0.5, 1.5, 0.5], requires_grad=True)
    ppo.clipped_surrogate(ratio, torch.tensor([1.0, -1.0, -1.0, 1.0]), 0.2).sum().backward()
    assert ratio.grad is not None
    assert ratio.grad.tolist() == [0.0, 0.0, -1.0, 1.0]


def test_entropy_and_kl() -> None:
    uniform = torch.log_softmax(torch.zeros(2, 11), dim=-1)
    assert ppo.entropy(uniform).tolist() == pytest.approx([2.3978953] * 2)
    assert float(ppo.kl_estimate(torch.zeros(5))) == 0.0
    assert float(ppo.kl_estimate(torch.log(torch.tensor([2.0])))) == pytest.approx(1 - 0.6931472)
    assert float(ppo.value_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))) == 2.5
