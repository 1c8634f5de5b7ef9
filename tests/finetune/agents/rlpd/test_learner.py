"""RLPD: whole iterations against a float64 reference, what its batches hold, and when it learns."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.rlpd.learner import RlpdAgent, RlpdLearner
from qwop.finetune.agents.rlpd.settings import RlpdLoopSettings, RlpdSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, Transitions
from qwop.finetune.log import RunLog, UpdateStats
from qwop.finetune.replay.demonstrations import Demonstrations, recorded_transitions
from qwop.finetune.replay.transition_memory import TransitionMemory
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.q_networks import EnsembleQ
from torch import Tensor

from ...fakes import CPU, make_episode, make_play, make_sequences
from ...replay.contents import contents
from ..learners import transitions
from ..reference import Adam

SEED = 5
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

    def update(self, batch: list[tuple[Any, ...]], subset: list[int]) -> None:
        losses = []
        for s, action, reward, discount, after, source in batch:
            with torch.no_grad():
                mean = torch.stack([self.q(self.online, j, after) for j in range(3)]).mean(0)
                following = min(float(self.q(self.target, i, after)[int(mean.argmax())]) for i in subset)
            y = SETTINGS.reward_scale * reward + discount * following
            for i in range(3):
                q = self.q(self.online, i, s)
                losses.append((y - q[action]) ** 2 / 2 / len(batch))
                if source == DEMONSTRATIONS:
                    margins = torch.full_like(q, SETTINGS.margin)
                    margins[action] = 0
                    losses.append(MIXED.imitation * ((q + margins).max() - q[action]) / len(batch))
        self.adam.step(torch.stack(losses).sum(), SETTINGS.learning_rate * MIXED.learning_rate)
        with torch.no_grad():
            for old, new in zip(self.target.parameters(), self.online.parameters(), strict=True):
                old.copy_((1 - SETTINGS.tau) * old + SETTINGS.tau * new)


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
    RlpdAgent(learner, memory, Demonstrations(shown), loop, RunLog(Path()), generator).learn(
        make_play(1, steps=8)[0], MIXED
    )
    random, stored = np.random.default_rng(SEED), contents(memory)
    assert len(stored) == 16
    for _ in range(4):  # a quarter of 16 decisions; a third of each batch of 9 is demonstrations
        drawn = rows(stored[random.integers(16, size=6)]) + rows(shown[random.integers(10, size=3)])
        reference.update(drawn, random.choice(3, 2, replace=False).tolist())
    for mine, theirs in ((learner.network, reference.online), (learner.target, reference.target)):
        for weights, expected in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(weights.detach().double(), expected.detach(), rtol=0, atol=2e-6)
    apart = zip(reference.online.parameters(), reference.target.parameters(), strict=True)
    assert max(float((a - b).detach().abs().max()) for a, b in apart) > 0.01  # or the comparison would say little


def test_the_diagnosis_is_of_the_batch_before_the_step() -> None:
    before, batch = network(), transitions(4, 10)
    batch.discounts[:], batch.source[:] = 0.0, DEMONSTRATIONS
    learner = RlpdLearner(copy.deepcopy(before), SETTINGS, CPU, np.random.default_rng(0))
    stats = learner.update(batch, PhaseValues(gamma=0.9), diagnose=True)
    assert learner.update(batch, PhaseValues(gamma=0.9)) is None
    assert stats is not None
    with torch.no_grad():
        every = before.member_values(torch.from_numpy(batch.observations))
    q = every[:, torch.arange(10), torch.from_numpy(batch.actions)]
    errors = SETTINGS.reward_scale * torch.from_numpy(batch.rewards) - q
    assert stats.scalars["value"] == pytest.approx(float(q.mean()), abs=1e-6)
    assert stats.scalars["q_error"] == pytest.approx(float(errors.square().mean().sqrt()), abs=1e-6)
    assert stats.scalars["disagreement"] == pytest.approx(float(q.std(0, correction=0).mean()), abs=1e-6)
    assert stats.by_source == {"demonstrations": {"td_error": pytest.approx(float(errors.abs().mean()), abs=1e-6)}}


class Recording(RlpdLearner):
    """Keeps what its updates are called with, and learns nothing."""

    def __init__(self) -> None:
        settings = RlpdSettings(hidden=(4,), members=2, subset=1, n_steps=3, gamma=0.9)
        super().__init__(EnsembleQ(2, 3, (4,), members=2), settings, CPU, np.random.default_rng(0))
        self.updates: list[tuple[Transitions, PhaseValues, bool]] = []

    def update(self, batch: Transitions, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        self.updates.append((batch, now, diagnose))
        return None

    def shares(self) -> list[float]:
        """The share of demonstrations in each batch."""
        return [float((batch.source == DEMONSTRATIONS).mean()) for batch, *_ in self.updates]


def make_agent(iterations: int = 0, demonstrations: bool = False) -> tuple[RlpdAgent, Recording]:
    """An agent after some iterations of two games and four steps."""
    loop = RlpdLoopSettings(num_envs=2, steps=4, capacity=40, start=9, batch_size=10, updates_per_decision=0.5)
    learner, memory = Recording(), TransitionMemory(loop.capacity, ObservationSpec((2,)))
    recorded = recorded_transitions([make_episode(20, first=1e6)], learner.settings, 0.9)
    shown = Demonstrations(recorded) if demonstrations else None
    agent = RlpdAgent(learner, memory, shown, loop, RunLog(Path()), np.random.default_rng(0))
    for number in range(iterations):
        agent.learn(make_sequences(2, first=2 * number), values())
    learner.updates.clear()
    return agent, learner


def values(demonstrations: float = 0.0, **more: Any) -> PhaseValues:
    return PhaseValues(**{"gamma": 0.9, **more}, demonstrations=demonstrations, uses_demonstrations=demonstrations > 0)


def test_the_share_of_demonstrations_in_a_batch_is_the_phases() -> None:
    agent, learner = make_agent(40, demonstrations=True)
    for share, expected in ((1.0, 0.5), (0.25, 0.2), (0.5, 1 / 3), (0.0, 0.0)):
        learner.updates.clear()
        for _ in range(30):
            agent.learn(None, values(share))
        assert np.mean(learner.shares()) == pytest.approx(expected, abs=0.01)
        assert all(len(batch) == 10 for batch, *_ in learner.updates)
    learner.updates.clear()
    agent.learn(None, values(0.5, live=False))
    assert learner.shares() == [1.0] * 4
    agent, learner = make_agent(40)
    agent.learn(None, values(1.0))
    assert learner.shares() == [0.0] * 4


def test_updates_come_as_often_as_decisions_allow_once_memory_holds_enough() -> None:
    agent, learner = make_agent()
    now = values(learning_rate=0.5, imitation=0.3)
    done = []
    for number in range(4):
        agent.learn(make_sequences(2, first=2 * number), now)
        done.append(len(learner.updates))
    # Three-step transitions: 4 after the first iteration, which is too few, then 12, 20, 28.
    assert done == [0, 4, 8, 12]
    assert {now for _, now, _ in learner.updates} == {now}
    assert [diagnose for *_, diagnose in learner.updates] == [True, False, False, False] * 3
