"""Whole updates of V-trace against a float64 reference written from the paper's equations, without our losses."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.agents.vtrace.learner import VtraceLearner
from qwop.finetune.agents.vtrace.settings import VtraceSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.recurrent import RecurrentActorCritic
from torch import Tensor

from ..live_play import make_batch
from ..reference import AdamReference

CPU = torch.device("cpu")
TEACHER = np.random.default_rng(3).dirichlet(np.ones(3), (4, 6)).astype(np.float32)


def batch_of(seed: int) -> Sequences:
    """Live play that begins in the middle of episodes."""
    return make_batch(
        seed, state=lambda random: tuple(random.normal(0, 0.5, (4, 5)).astype(np.float32) for _ in range(2))
    )


class Reference(AdamReference):
    """IMPALA's actor-critic, step by step and sequence by sequence, in float64."""

    def cell(self, observation: np.ndarray, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        w = self.weights
        x = torch.tanh(w["trunk.0.weight"] @ self.scaled(observation) + w["trunk.0.bias"])
        gates = w["core.weight_ih"] @ x + w["core.bias_ih"] + w["core.weight_hh"] @ h + w["core.bias_hh"]
        i, f, g, o = gates.chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def value(self, h: Tensor) -> Tensor:
        return (self.weights["value_head.weight"] @ h + self.weights["value_head.bias"]).squeeze()

    def loss(self, batch: Sequences, entropy: float, critic_only: bool) -> Tensor:
        n, k = batch.actions.shape
        final = {(int(i), int(t)): number for number, (i, t) in enumerate(zip(*batch.finals[:2], strict=True))}
        gamma, rho_bar, c_bar = self.s["gamma"], self.s["rho_bar"], self.s["c_bar"]
        gain, errors, bonus, taught = (torch.zeros((), dtype=torch.float64) for _ in range(4))
        for row in range(n):
            h, c = (torch.from_numpy(part[row]).double() for part in batch.state)
            values, log_pi, entropies, after = [], [], [], []
            for t in range(k):
                h, c = self.cell(batch.observations[row, t], h, c)
                pi = (self.weights["policy_head.weight"] @ h + self.weights["policy_head.bias"]).softmax(0)
                log_pi.append(pi[batch.actions[row, t]].log())
                entropies.append(-(pi * pi.log()).sum())
                taught = taught + (torch.from_numpy(TEACHER[row, t]).double() * pi.log()).sum()
                values.append(self.value(h.detach() if critic_only else h))
                after.append((h, c))
                if batch.terminated[row, t] or batch.truncated[row, t]:
                    h, c = torch.zeros_like(h), torch.zeros_like(c)
            v = [value.item() for value in values]
            last = self.value(self.cell(batch.observations[row, k], h, c)[0]).item()
            ratios = [
                log_pi[t].exp().item() / float(batch.behaviour_probabilities[row, t, batch.actions[row, t]])
                for t in range(k)
            ]
            targets = [0.0] * k
            advantages = [0.0] * k
            for t in reversed(range(k)):
                going_on = not (batch.terminated[row, t] or batch.truncated[row, t])
                next_value = next_target = 0.0
                if going_on:
                    next_value = v[t + 1] if t + 1 < k else last
                    next_target = targets[t + 1] if t + 1 < k else last
                elif not batch.terminated[row, t]:
                    seen = batch.finals.observations[final[row, t]]
                    next_value = next_target = self.value(self.cell(seen, *after[t])[0]).item()
                delta = min(rho_bar, ratios[t]) * (batch.rewards[row, t] + gamma * next_value - v[t])
                targets[t] = v[t] + delta
                if going_on:
                    targets[t] += gamma * min(c_bar, ratios[t]) * (next_target - next_value)
                advantages[t] = min(rho_bar, ratios[t]) * (batch.rewards[row, t] + gamma * next_target - v[t])
            for t in range(k):
                gain = gain + log_pi[t] * advantages[t]
                errors = errors + (targets[t] - values[t]) ** 2
                bonus = bonus + entropies[t]
        count = n * k
        loss = self.s["value_coefficient"] * errors / count
        if not critic_only:
            loss = loss - gain / count - entropy * self.s["entropy_coefficient"] * bonus / count
            loss = loss - self.s.get("imitation", 0.0) * taught / count
        return loss


@pytest.mark.parametrize(
    ("passes", "imitation", "more"),
    [
        (1, 0.0, {}),
        (1, 0.0, {"learning_rate": 0.3, "entropy": 4.0}),
        (1, 0.6, {"critic_only": True}),
        (2, 0.0, {}),
        (1, 0.6, {"entropy": 4.0}),
    ],
    ids=["plain", "factors", "critic only", "two passes", "teacher"],
)
def test_updates_are_the_papers(passes: int, imitation: float, more: dict[str, Any]) -> None:
    settings: dict[str, Any] = {
        "gamma": 0.9, "rho_bar": 1.2, "c_bar": 0.8, "value_coefficient": 0.7, "entropy_coefficient": 0.05,
        "learning_rate": 0.01, "epsilon": 1e-3, "max_gradient_norm": 0.4, "passes": passes,
    }  # fmt: skip
    network = RecurrentActorCritic(2, 3, (7,), 5, torch.Generator().manual_seed(1))
    reference = Reference(network.named_parameters(), settings | {"imitation": imitation})
    learner = VtraceLearner(network, VtraceSettings(**settings), CPU)
    for seed in range(3):
        now = PhaseValues(0.9, kickstarting=imitation, **more)
        learner.update(replace(batch_of(seed), teacher=TEACHER), now)
        reference.update(batch_of(seed), **more)
    for name, weight in network.named_parameters():
        np.testing.assert_allclose(weight.detach(), reference.weights[name], rtol=2e-4, atol=2e-5, err_msg=name)


def test_a_diagnosis_says_what_happened() -> None:
    network = RecurrentActorCritic(2, 3, (7,), 5, torch.Generator().manual_seed(1))
    stats = VtraceLearner(network, VtraceSettings(), CPU).update(batch_of(0), PhaseValues(0.9))
    assert stats.scalars["entropy"] == pytest.approx(np.log(3), abs=0.01)
    assert 0 < stats.scalars["rho_above_limit"] < 1
    assert all(np.isfinite(one) for one in stats.scalars.values())
