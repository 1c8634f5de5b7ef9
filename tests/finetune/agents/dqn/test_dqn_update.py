"""Whole iterations of plain DQN against a float64 reference written from the paper's equations."""

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.dqn.learner import DqnAgent, DqnLearner, new_network
from qwop.finetune.agents.dqn.settings import ADAM, RMSPROP, DqnLoopSettings, DqnSettings
from qwop.finetune.experience.sequences import LIVE, Sequences, TruncatedObservations
from qwop.finetune.log import RunLog
from qwop.finetune.replay.transition_memory import TransitionMemory
from qwop.finetune.schedules.phase import PhaseValues

STREAMS, STEPS, ITERATIONS, ACTIONS, BATCH, SEED = 2, 6, 5, 3, 8, 11
GAMMA, RATE, LARGEST_NORM = 0.8, 0.02, 0.5
LOOP = DqnLoopSettings(
    num_envs=STREAMS, steps=STEPS, capacity=40, start=12, batch_size=BATCH, train_every=3, target_every=12
)
NOW = PhaseValues(gamma=GAMMA)


def play() -> list[Sequences]:
    """Games under way over all iterations. Some end, none by a time limit; rewards go beyond the clip."""
    random, total = np.random.default_rng(3), STEPS * ITERATIONS
    observations = random.normal(size=(STREAMS, total + 1, 2)).astype(np.float32)
    actions = random.integers(ACTIONS, size=(STREAMS, total))
    rewards = random.normal(0.0, 1.5, size=(STREAMS, total)).astype(np.float32)
    terminated = random.random((STREAMS, total)) < 0.15
    none = TruncatedObservations(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 2), np.float32))
    return [
        Sequences(
            observations=observations[:, start : start + STEPS + 1],
            actions=actions[:, start : start + STEPS],
            rewards=rewards[:, start : start + STEPS],
            behaviour_probabilities=np.full((STREAMS, STEPS, ACTIONS), 1 / ACTIONS, dtype=np.float32),
            terminated=terminated[:, start : start + STEPS],
            truncated=np.zeros((STREAMS, STEPS), dtype=np.bool_),
            finals=none,
            source=np.full(STREAMS, LIVE, dtype=np.int8),
        )
        for start in range(0, total, STEPS)
    ]


class Reference:
    """DQN (Mnih et al. 2015), one transition at a time, from a memory that is a list, in float64."""

    def __init__(self, network: torch.nn.Module, optimiser: str, clip: bool) -> None:
        self.online, self.target = (copy.deepcopy(network).double() for _ in range(2))
        self.optimiser, self.clip = optimiser, clip
        self.memory: list[tuple[Any, int, float, float, Any]] = []
        self.generator = np.random.default_rng(SEED)
        self.first = [torch.zeros_like(p) for p in self.online.parameters()]
        self.second = [torch.zeros_like(p) for p in self.online.parameters()]
        self.updates = 0

    def iterate(self, live: Sequences) -> None:
        for i in range(STREAMS):
            for t in range(STEPS):
                reward = float(live.rewards[i, t])
                reward = min(max(reward, -1.0), 1.0) if self.clip else reward
                discount = 0.0 if live.terminated[i, t] else GAMMA
                row = (live.observations[i, t], int(live.actions[i, t]), reward, discount, live.observations[i, t + 1])
                self.memory.append(row)
        for _ in range(STREAMS * STEPS // 3):
            self.update()

    def update(self) -> None:
        # A ring of 40: number n of 40 + k pushed lies in slot n % 40.
        held = {number % LOOP.capacity: row for number, row in enumerate(self.memory)}
        slots = self.generator.integers(len(held), size=BATCH)
        losses = []
        for s, a, r, d, following in (held[int(slot)] for slot in slots):
            with torch.no_grad():
                y = r + d * self.target(torch.tensor(following).double()).max()
            error = y - self.online(torch.tensor(s).double())[a]
            losses.append(error**2 / 2 if error.abs() <= 1 else error.abs() - 0.5)
        parameters = list(self.online.parameters())
        self.online.zero_grad()
        torch.stack(losses).mean().backward()
        self.updates += 1
        with torch.no_grad():
            for p, m, n in zip(parameters, self.first, self.second, strict=True):
                g = p.grad * min(1.0, LARGEST_NORM / float(p.grad.norm() + 1e-6))
                if self.optimiser == RMSPROP:
                    m.copy_(0.95 * m + 0.05 * g)
                    n.copy_(0.95 * n + 0.05 * g**2)
                    p -= RATE * g / (n - m**2 + 0.01 / 32**2).sqrt()
                else:
                    m.copy_(0.9 * m + 0.1 * g)
                    n.copy_(0.999 * n + 0.001 * g**2)
                    corrected = (n / (1 - 0.999**self.updates)).sqrt()
                    p -= RATE * m / (1 - 0.9**self.updates) / (corrected + 0.1)
        if self.updates % 4 == 0:  # 12 decisions
            self.target.load_state_dict(self.online.state_dict())


@pytest.mark.parametrize(("optimiser", "clip"), [(RMSPROP, True), (ADAM, False)])
def test_iterations_are_those_of_the_paper(optimiser: str, clip: bool) -> None:
    settings = DqnSettings(
        gamma=GAMMA,
        hidden=(8,),
        optimiser=optimiser,
        learning_rate=RATE,
        adam_epsilon=0.1,
        max_gradient_norm=LARGEST_NORM,
        clip_rewards=clip,
    )
    network = new_network(settings)(2, ACTIONS, torch.Generator().manual_seed(0))
    reference = Reference(network, optimiser, clip)
    agent = DqnAgent(
        DqnLearner(network, settings, torch.device("cpu")),
        TransitionMemory(LOOP.capacity, ObservationSpec((2,))),
        None,
        LOOP,
        RunLog(Path()),
        np.random.default_rng(SEED),
    )
    targets = []
    for live in play():
        agent.learn(live, NOW)
        reference.iterate(live)
        targets.append([p.clone() for p in agent.learner.target.parameters()])
    for mine, theirs in ((agent.learner.network, reference.online), (agent.learner.target, reference.target)):
        for weights, expected in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(weights.detach().double(), expected.detach(), rtol=0, atol=5e-6)
    assert sum(not torch.equal(a[0], b[0]) for a, b in pairwise(targets)) >= 2
