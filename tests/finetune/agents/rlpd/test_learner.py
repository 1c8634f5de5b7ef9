"""RLPD: whole iterations against a float64 reference, what its batches hold, and when it learns."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.rlpd.learner import RlpdAgent, RlpdLearner
from qwop.finetune.agents.rlpd.settings import RlpdLoopSettings, RlpdSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Transitions
from qwop.finetune.log import RunLog
from qwop.finetune.replay.demonstrations import Demonstrations
from qwop.finetune.replay.transition_memory import TransitionMemory
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.q_networks import EnsembleQ
from torch import Tensor

from ...fakes import CPU, make_play
from ...replay.contents import contents
from ..learners import transitions
from ..reference import Adam

SEED = 5
SOURCES = {"live/td_error": LIVE, "demonstrations/td_error": DEMONSTRATIONS}
MIXED = PhaseValues(gamma=0.9, demonstrations=0.5, learning_rate=0.7, imitation=0.6, uses_demonstrations=True)
SETTINGS = RlpdSettings(
    n_steps=1, members=3, subset=2, learning_rate=0.02, max_gradient_norm=0.8, tau=0.2, reward_scale=0.6, margin=0.8,
    hidden=(6,), adam_epsilon=0.1,  # so large that the size of a gradient shows in Adam's steps
)  # fmt: skip


def network() -> EnsembleQ:
    return EnsembleQ(2, 3, (6,), torch.Generator().manual_seed(0), 3)


class Reference:
    """RLPD's critics (Ball et al. 2023) in float64: one member and one transition at a time."""

    def __init__(self) -> None:
        self.online, self.target = (network().double() for _ in range(2))
        self.adam = Adam([*self.online.parameters()], SETTINGS.adam_epsilon, SETTINGS.max_gradient_norm)

    def q(self, network: EnsembleQ, member: int, observation: Any) -> Tensor:
        """Q_i(s, ·) from the weights: linear, layer norm, ReLU, linear."""
        first, norm, _, last = network.layers
        x = torch.from_numpy(np.asarray(observation)).double() @ first.weight[member] + first.bias[member, 0]
        x = (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt() * norm.gain[member, 0] + norm.shift[member, 0]
        return x.clamp(min=0) @ last.weight[member] + last.bias[member, 0]

    def update(self, batch: list[tuple[Any, ...]], subset: list[int]) -> dict[str, float]:
        """Take a step; return figures of the batch before it."""
        losses, taken, errors = [], [], []
        for s, action, reward, discount, after, source in batch:
            with torch.no_grad():
                mean = torch.stack([self.q(self.online, j, after) for j in range(3)]).mean(0)
                following = min(float(self.q(self.target, i, after)[int(mean.argmax())]) for i in subset)
            y = SETTINGS.reward_scale * reward + discount * following
            for i in range(3):
                q = self.q(self.online, i, s)
                losses.append((y - q[action]) ** 2 / 2 / len(batch))
                taken.append(q[action].item())
                errors.append(y - taken[-1])
                if source == DEMONSTRATIONS:
                    margins = torch.full_like(q, SETTINGS.margin)
                    margins[action] = 0
                    losses.append(MIXED.imitation * ((q + margins).max() - q[action]) / len(batch))
        self.adam.step(torch.stack(losses).sum(), SETTINGS.learning_rate * MIXED.learning_rate)
        with torch.no_grad():
            for old, new in zip(self.target.parameters(), self.online.parameters(), strict=True):
                old.copy_((1 - SETTINGS.tau) * old + SETTINGS.tau * new)
        size = np.abs(errors).reshape(-1, 3).mean(1)
        sources = {name: float(size[[row[-1] == kind for row in batch]].mean()) for name, kind in SOURCES.items()}
        apart = np.reshape(taken, (-1, 3)).std(1).mean()
        figures = {"value": np.mean(taken), "q_error": np.sqrt(np.square(errors).mean()), "disagreement": apart}
        return {f"learner/{name}": one for name, one in figures.items()} | sources


def rows(batch: Transitions) -> list[tuple[Any, ...]]:
    columns = batch.actions, batch.rewards, batch.discounts
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    parts = zip(batch.observations, numbers, batch.next_observations, batch.source, strict=True)
    return [(s, *three, after, int(source)) for s, three, after, source in parts]


def test_updates_are_those_of_the_paper() -> None:
    generator, reference = np.random.default_rng(SEED), Reference()
    learner = RlpdLearner(network(), SETTINGS, CPU, generator)
    memory = TransitionMemory(100, ObservationSpec((2,)))
    loop = RlpdLoopSettings(num_envs=2, steps=8, capacity=100, start=16, batch_size=9, updates_per_decision=0.25)
    shown = transitions(4, 10)
    shown.source[:] = DEMONSTRATIONS
    log = RunLog(Path())
    RlpdAgent(learner, memory, Demonstrations(shown), loop, log, generator).learn(make_play(1, steps=8)[0], MIXED)
    random, stored = np.random.default_rng(SEED), contents(memory)
    assert len(stored) == 16
    figures = []
    for _ in range(4):  # a quarter of 16 decisions; a third of each batch of 9 is demonstrations
        drawn = rows(stored[random.integers(16, size=6)]) + rows(shown[random.integers(10, size=3)])
        figures.append(reference.update(drawn, random.choice(3, 2, replace=False).tolist()))
    row = log.row()
    assert {name: row[name] for name in figures[0]} == pytest.approx(figures[0], abs=1e-5)  # the first is diagnosed
    for mine, theirs in ((learner.network, reference.online), (learner.target, reference.target)):
        for weights, expected in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(weights.detach().double(), expected.detach(), rtol=0, atol=2e-6)
    apart = zip(reference.online.parameters(), reference.target.parameters(), strict=True)
    assert max(float((a - b).detach().abs().max()) for a, b in apart) > 0.01  # or the comparison would say little
