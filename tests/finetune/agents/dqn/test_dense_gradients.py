"""DQN's gradients derived by hand against autograd, in float64."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.finetune.agents.dqn.learner import DqnLearner
from qwop.finetune.agents.dqn.settings import DqnSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE
from qwop.finetune.experience.transitions import Transitions
from qwop.policies.q_networks import QNetwork

SIZE, ACTIONS, B = 3, 4, 60


def learner_of(hidden: tuple[int, ...] = (8, 5), quantiles: int = 0, **more: Any) -> DqnLearner:
    kinds = {name: more.get(name, False) for name in ("dueling", "layer_norm")}
    network = QNetwork(SIZE, ACTIONS, hidden, torch.Generator().manual_seed(0), max(quantiles, 1), **kinds)
    learner = DqnLearner(network.double(), DqnSettings(margin=0.3, quantiles=quantiles, **more), torch.device("cpu"))
    with torch.no_grad():
        for one in learner.target.parameters():
            one.add_(0.3 * torch.randn(one.shape, generator=torch.Generator().manual_seed(1)))
    return learner


def batch_of() -> tuple[Transitions, NDArray[np.float64]]:
    """Transitions and their importance weights, in float64."""
    generator = np.random.default_rng(2)
    batch = Transitions(
        observations=generator.normal(size=(B, SIZE)),
        actions=generator.integers(ACTIONS, size=B),
        rewards=2 * generator.normal(size=B),
        discounts=0.9 * generator.integers(2, size=B),
        next_observations=generator.normal(size=(B, SIZE)),
        source=generator.choice([LIVE, DEMONSTRATIONS], size=B).astype(np.int8),
    )
    return batch, np.abs(generator.normal(size=B))


@pytest.mark.parametrize("hidden", [(8,), (9, 5, 6)])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("imitation", [0.0, 0.7])
@pytest.mark.parametrize("longest", [10.0, 0.05])
def test_gradients_are_autograds(hidden: tuple[int, ...], double: bool, imitation: float, longest: float) -> None:
    learner = learner_of(hidden, double=double, max_gradient_norm=longest, reward_scale=0.8)
    batch, weights = batch_of()
    expected = learner._autograd(batch, weights, imitation)
    gradients = [one.grad.clone() for one in learner._parameters if one.grad is not None]
    assert len(gradients) == 2 * len(hidden) + 2
    assert (expected.errors.abs() > 1).any()
    assert (expected.errors.abs() < 1).any()
    assert any(one.norm() > 0.049 for one in gradients)
    assert learner._dense is not None
    for _ in range(2):  # nothing is left from the call before
        for one in learner._parameters:
            one.grad = None
        found = learner._dense.step(batch, weights, imitation)
        for mine, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(torch.as_tensor(mine, dtype=torch.float64), theirs, rtol=1e-10, atol=1e-14)
        for one, gradient in zip(learner._parameters, gradients, strict=True):
            torch.testing.assert_close(one.grad, gradient, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("more", [{"dueling": True}, {"layer_norm": True}, {"quantiles": 3}, {"hidden": ()}])
def test_other_networks_are_left_to_autograd(more: dict[str, Any]) -> None:
    assert learner_of(**more)._dense is None
