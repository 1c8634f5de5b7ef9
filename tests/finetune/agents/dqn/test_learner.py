"""One update of double DQN, looked at from outside."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.finetune.agents.dqn.learner import DqnLearner
from qwop.finetune.agents.dqn.settings import DdqnSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE
from qwop.finetune.experience.transitions import Transitions
from qwop.policies.q_networks import DuelingQ
from torch import Tensor

from ...runs import NOW

CPU = torch.device("cpu")


def learner(seed: int = 0, device: torch.device = CPU, **settings: Any) -> DqnLearner:
    chosen = DdqnSettings(**{"hidden": (16, 8), "reward_scale": 1.0, **settings})
    generator = torch.Generator().manual_seed(seed)
    return DqnLearner(DuelingQ(2, 3, chosen.hidden, generator), chosen, device)


def make(n: int = 8, seed: int = 0, source: int = LIVE, **columns: Any) -> Transitions:
    generator = np.random.default_rng(seed)
    return replace(
        Transitions(
            observations=generator.normal(size=(n, 2)).astype(np.float32),
            actions=generator.integers(3, size=n),
            rewards=generator.normal(size=n).astype(np.float32),
            discounts=np.full(n, 0.9, dtype=np.float32),
            next_observations=generator.normal(size=(n, 2)).astype(np.float32),
            source=np.full(n, source, dtype=np.int8),
        ),
        **columns,
    )


def weights_of(network: Any) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


def ones(n: int = 8) -> NDArray[np.float32]:
    return np.ones(n, dtype=np.float32)


def test_a_diagnosis_tells_the_sources_apart() -> None:
    batch = replace(make(), source=np.array([LIVE] * 6 + [DEMONSTRATIONS] * 2, dtype=np.int8))
    weights = np.array([1.0] * 6 + [0.5] * 2, dtype=np.float32)
    errors, stats = learner().update(batch, NOW, weights, diagnose=True)
    assert stats.by_source["demonstrations"]["importance_weight"] == 0.5
    assert stats.by_source["live"]["td_error"] == pytest.approx(float(errors[:6].abs().mean()))
