"""DQN's gradients derived by hand against autograd, in float64."""

from typing import Any

import pytest
import torch
from qwop.finetune.agents.dqn.dense_gradients import Batch
from qwop.finetune.agents.dqn.learner import DqnLearner
from qwop.finetune.agents.dqn.settings import DqnSettings
from qwop.policies.q_networks import QNetwork
from torch import Tensor

SIZE, ACTIONS, B = 3, 4, 60


def learner_of(hidden: tuple[int, ...] = (8, 5), quantiles: int = 0, **more: Any) -> DqnLearner:
    kinds = {name: more.get(name, False) for name in ("dueling", "layer_norm")}
    network = QNetwork(SIZE, ACTIONS, hidden, torch.Generator().manual_seed(0), max(quantiles, 1), **kinds)
    learner = DqnLearner(network.double(), DqnSettings(margin=0.3, quantiles=quantiles, **more), torch.device("cpu"))
    with torch.no_grad():
        for one in learner.target.parameters():
            one.add_(0.3 * torch.randn(one.shape, generator=torch.Generator().manual_seed(1)))
    return learner


def batch_of(imitation: float) -> Batch:
    generator = torch.Generator().manual_seed(2)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    demonstrated = torch.randint(2, (B,), generator=generator)
    return Batch(
        observations=normal(B, SIZE),
        actions=torch.randint(ACTIONS, (B,), generator=generator),
        rewards=2 * normal(B),
        discounts=0.9 * torch.randint(2, (B,), generator=generator),
        following=normal(B, SIZE),
        weights=normal(B).abs(),
        imitation=imitation * demonstrated if imitation else None,
    )


@pytest.mark.parametrize("hidden", [(8,), (9, 5, 6)])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("imitation", [0.0, 0.7])
def test_gradients_are_autograds(hidden: tuple[int, ...], double: bool, imitation: float) -> None:
    learner, batch = learner_of(hidden, double=double), batch_of(imitation)
    expected = learner._autograd(batch)
    gradients = [one.grad.clone() for one in learner._parameters if one.grad is not None]
    assert len(gradients) == 2 * len(hidden) + 2
    assert (expected.errors.abs() > 1).any()
    assert (expected.errors.abs() < 1).any()
    assert learner._dense is not None
    for _ in range(2):  # nothing is left from the call before
        for one in learner._parameters:
            one.grad = None
        found = learner._dense.step(batch)
        for mine, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-14)
        for one, gradient in zip(learner._parameters, gradients, strict=True):
            torch.testing.assert_close(one.grad, gradient, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("more", [{"dueling": True}, {"layer_norm": True}, {"quantiles": 3}, {"hidden": ()}])
def test_other_networks_are_left_to_autograd(more: dict[str, Any]) -> None:
    assert learner_of(**more)._dense is None
