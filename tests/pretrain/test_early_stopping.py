"""The pass that a clone is of, and the end of training."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.pretrain.clone import Epoch, train_with_early_stopping
from qwop.pretrain.rows import Rows

VALIDATION = Rows(np.zeros((4, 1), dtype=np.float32), np.zeros(4, dtype=np.int64), np.full(4, -1))


def train(biases: list[float], patience: int, validation: Rows = VALIDATION) -> tuple[Policy, tuple[Epoch, ...]]:
    """Passes after which action 0 has the logit of `biases`, action 1 its negative; action 0 is always right."""
    policy = Policy(ActorCritic(1, 2, (2,)), EnvironmentSpec("CartPole-v1"), ObservationSpec((1,)))
    torch.nn.init.zeros_(policy.network.policy_head.weight)

    def passes() -> Iterator[float]:
        for bias in biases:
            with torch.no_grad():
                policy.network.policy_head.bias.copy_(torch.tensor([bias, -bias]))
            yield 0.0

    reported: list[Epoch] = []
    done = train_with_early_stopping(policy, passes(), validation, patience, reported.append)
    assert tuple(reported) == done
    return policy, done


def test_the_policy_of_the_best_pass_remains() -> None:
    policy, done = train([0.0, 2.0, 1.0, 0.5], patience=9)
    assert policy.network.policy_head.bias.tolist() == [2.0, -2.0]
    assert [epoch.is_best for epoch in done] == [True, True, False, False]
    assert [epoch.number for epoch in done] == [1, 2, 3, 4]


def test_it_ends_when_patience_is_over() -> None:
    policy, done = train([0.0, 1.0, 0.9, 0.8, 3.0], patience=2)
    assert len(done) == 4
    assert policy.network.policy_head.bias.tolist() == [1.0, -1.0]


def test_the_players_own_probabilities_decide_where_they_are_known() -> None:
    mu = np.tile(np.float32([0.6, 0.4]), (4, 1))  # of which action 0 was drawn each time
    policy, done = train([0.0, 0.2, 2.0], patience=9, validation=replace(VALIDATION, probabilities=mu))
    assert policy.network.policy_head.bias[0].item() == torch.tensor(0.2).item()
    p = 1 / (1 + math.exp(-0.4))
    assert done[1].validation_nats == pytest.approx(-0.6 * math.log(p) - 0.4 * math.log(1 - p), abs=1e-6)


def test_likelihood_decides_not_accuracy() -> None:
    policy, done = train([0.1, 0.2], patience=9)
    assert [epoch.validation_accuracy for epoch in done] == [1.0, 1.0]
    assert policy.network.policy_head.bias[0].item() == torch.tensor(0.2).item()
