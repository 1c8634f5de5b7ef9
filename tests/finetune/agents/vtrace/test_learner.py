"""V-trace: whole updates against a float64 reference, and unrolls with the same numbers as in play."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from qwop.finetune.agents.vtrace.learner import VtraceLearner, unroll
from qwop.finetune.agents.vtrace.settings import VtraceSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.networks import to_tensors
from qwop.policies.recurrent import RecurrentActorCritic, TwoTimescaleActorCritic
from torch import Tensor

from ...fakes import CPU, make_batch
from ..learners import short_games
from ..reference import LiveReference, actor_critic

TEACHER = np.random.default_rng(3).dirichlet(np.ones(3), (4, 6)).astype(np.float32)


def batch_of(seed: int) -> Sequences:
    """Live play that begins in the middle of episodes."""
    return make_batch(
        seed, state=lambda random: tuple(random.normal(0, 0.5, (4, 5)).astype(np.float32) for _ in range(2))
    )


class Reference(LiveReference):
    """IMPALA's actor-critic, step by step and sequence by sequence, in float64."""

    def cell(self, observation: np.ndarray, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return self.lstm("core", torch.tanh(self.linear("trunk.0", self.scaled(observation))), h, c)

    def value(self, h: Tensor) -> Tensor:
        return self.linear("value_head", h).squeeze()

    def loss(self, batch: Sequences, entropy: float, critic_only: bool) -> Tensor:
        final = {(int(i), int(t)): seen for i, t, seen in zip(*batch.finals, strict=True)}
        policy, critic, bonus, taught = (torch.zeros((), dtype=torch.float64) for _ in range(4))
        for row in range(len(batch)):
            h, c = (torch.from_numpy(part[row]).double() for part in batch.state)
            values, log_pi, finals = [], [], {}
            for t in range(batch.steps):
                h, c = self.cell(batch.observations[row, t], h, c)
                pi = self.linear("policy_head", h).softmax(0)
                log_pi.append(pi[batch.actions[row, t]].log())
                bonus = bonus - (pi * pi.log()).sum()
                taught = taught + (torch.from_numpy(TEACHER[row, t]).double() * pi.log()).sum()
                values.append(self.value(h.detach() if critic_only else h))
                if (row, t) in final:
                    finals[t] = self.value(self.cell(final[row, t], h, c)[0]).item()
                if batch.terminated[row, t] or batch.truncated[row, t]:
                    h, c = torch.zeros_like(h), torch.zeros_like(c)
            last = self.value(self.cell(batch.observations[row, -1], h, c)[0]).item()
            losses = actor_critic(batch, row, self.s, values, log_pi, finals, last)
            policy, critic = policy + losses[0], critic + losses[1]
        loss = self.s["value_coefficient"] * critic
        if not critic_only:
            loss = loss + policy - entropy * self.s["entropy_coefficient"] * bonus - self.s["imitation"] * taught
        return loss / batch.actions.size


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
        stats = learner.update(
            replace(batch_of(seed), teacher=TEACHER), PhaseValues(0.9, kickstarting=imitation, **more)
        )
        reference.update(batch_of(seed), **more)
        assert all(np.isfinite(one) for one in stats.scalars.values())
        assert 0 < stats.scalars["rho_above_limit"] < 1
    for name, weight in network.named_parameters():
        expected = reference.weights[name].detach()
        np.testing.assert_allclose(weight.detach(), expected, rtol=2e-4, atol=2e-5, err_msg=name)


def make_network() -> RecurrentActorCritic:
    return RecurrentActorCritic(4, 2, (16,), 16, torch.Generator().manual_seed(0))


def two_timescale() -> TwoTimescaleActorCritic:
    return TwoTimescaleActorCritic(4, 2, (16,), 16, 16, 4, torch.Generator().manual_seed(0), 6)


@pytest.mark.parametrize(
    ("make", "run"),
    [
        (make_network, lambda played: unroll(make_network(), played, CPU)),
        (two_timescale, lambda played: unroll(two_timescale(), played, CPU, slow_gradient=0.3)),
    ],
    ids=["recurrent", "two-timescale with an external memory"],
)
def test_unrolls_have_the_numbers_of_play_however_it_is_cut(make: Any, run: Any) -> None:
    """Episodes end within, at and after the cut, which falls between two ticks of the slow core."""
    (whole,), halves = short_games(make(), 30), short_games(make(), 15, parts=2)
    assert whole.truncated.any()
    one, (first, second) = run(whole), map(run, halves)
    close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-6)
    close(torch.softmax(one.logits, -1).detach(), torch.from_numpy(whole.behaviour_probabilities))
    close(one.logits, torch.cat([first.logits, second.logits], dim=1))
    close(one.values, torch.cat([first.values[:, :-1], second.values], dim=1))
    close(one.final_values, torch.cat([first.final_values, second.final_values], dim=1))
    close(first.state, to_tensors(halves[1].state))
    close(one.state, second.state)
