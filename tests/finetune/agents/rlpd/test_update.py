"""Whole iterations of RLPD against a float64 reference written from the paper's equations, a member at a time."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.rlpd.learner import RlpdAgent, RlpdLearner
from qwop.finetune.agents.rlpd.settings import RlpdLoopSettings, RlpdSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences, TruncatedObservations
from qwop.finetune.experience.transitions import Transitions
from qwop.finetune.log import RunLog
from qwop.finetune.replay.demonstrations import Demonstrations
from qwop.finetune.replay.transition_memory import TransitionMemory
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.q_networks import EnsembleQ
from torch import Tensor

from ...replay.contents import contents

STREAMS, STEPS, ACTIONS, SEED = 2, 8, 3, 5
NOW = PhaseValues(gamma=0.9, demonstrations=0.5, learning_rate=0.7, imitation=0.6, uses_demonstrations=True)

BASE: dict[str, Any] = {
    "n_steps": 1,
    "members": 3,
    "subset": 2,
    "learning_rate": 0.02,
    "adam_epsilon": 0.1,  # so large that the size of a gradient shows in Adam's steps
    "max_gradient_norm": 0.8,
    "tau": 0.2,
    "reward_scale": 0.6,
    "margin": 0.8,
    "hidden": (6,),
}
LOOP = RlpdLoopSettings(num_envs=STREAMS, steps=STEPS, capacity=100, start=16, batch_size=9, updates_per_decision=0.25)


STILL = PhaseValues(gamma=0.9)


def live() -> Sequences:
    random = np.random.default_rng(3)
    terminated, truncated = np.zeros((STREAMS, STEPS), bool), np.zeros((STREAMS, STEPS), bool)
    terminated[0, 3] = truncated[1, 5] = True
    return Sequences(
        observations=random.normal(size=(STREAMS, STEPS + 1, 2)).astype(np.float32),
        actions=random.integers(ACTIONS, size=(STREAMS, STEPS)),
        rewards=random.normal(1.0, 2.0, size=(STREAMS, STEPS)).astype(np.float32),
        behaviour_probabilities=np.full((STREAMS, STEPS, ACTIONS), 1 / ACTIONS, dtype=np.float32),
        terminated=terminated,
        truncated=truncated,
        finals=TruncatedObservations(np.array([1]), np.array([5]), random.normal(size=(1, 2)).astype(np.float32)),
        source=np.full(STREAMS, LIVE, dtype=np.int8),
    )


def demonstrations(n: int = 10) -> Transitions:
    random = np.random.default_rng(4)
    return Transitions(
        observations=random.normal(size=(n, 2)).astype(np.float32),
        actions=random.integers(ACTIONS, size=n),
        rewards=random.normal(size=n).astype(np.float32),
        discounts=random.choice([0.0, 0.9], size=n).astype(np.float32),
        next_observations=random.normal(size=(n, 2)).astype(np.float32),
        source=np.full(n, DEMONSTRATIONS, dtype=np.int8),
    )


class Reference:
    """RLPD's critics in float64: one member and one transition at a time."""

    def __init__(self, network: EnsembleQ) -> None:
        self.online, self.target = (copy.deepcopy(network).double() for _ in range(2))
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.online.parameters()]
        self.steps = 0

    def q(self, network: EnsembleQ, member: int, observation: Any) -> Tensor:
        """Q_i(s, ·) from the weights: linear, layer norm, ReLU, linear."""
        first, norm, _, last = network.layers
        x = torch.from_numpy(np.asarray(observation)).double() @ first.weight[member] + first.bias[member, 0]
        x = (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt() * norm.gain[member, 0] + norm.shift[member, 0]
        return x.clamp(min=0) @ last.weight[member] + last.bias[member, 0]

    def update(self, batch: list[tuple[Any, int, float, float, Any, int]], subset: list[int]) -> None:
        members = range(BASE["members"])
        losses = []
        for s, action, reward, discount, after, source in batch:
            with torch.no_grad():
                mean = torch.stack([self.q(self.online, j, after) for j in members]).mean(0)
                following = min(float(self.q(self.target, i, after)[int(mean.argmax())]) for i in subset)
            y = BASE["reward_scale"] * reward + discount * following
            for i in members:
                q = self.q(self.online, i, s)
                loss = (y - q[action]) ** 2 / 2
                if source == DEMONSTRATIONS:
                    margins = torch.full_like(q, BASE["margin"])
                    margins[action] = 0
                    loss = loss + NOW.imitation * ((q + margins).max() - q[action])
                losses.append(loss / len(batch))
        parameters = list(self.online.parameters())
        gradients = torch.autograd.grad(torch.stack(losses).sum(), parameters)
        factor = min(1.0, BASE["max_gradient_norm"] / float(sum((g**2).sum() for g in gradients)) ** 0.5)
        self.steps += 1
        for p, g, moment in zip(parameters, gradients, self.moments, strict=True):
            moment[0].mul_(0.9).add_(0.1 * factor * g)
            moment[1].mul_(0.999).add_(0.001 * (factor * g) ** 2)
            first, second = moment[0] / (1 - 0.9**self.steps), moment[1] / (1 - 0.999**self.steps)
            with torch.no_grad():
                p -= BASE["learning_rate"] * NOW.learning_rate * first / (second.sqrt() + BASE["adam_epsilon"])
        with torch.no_grad():
            for old, new in zip(self.target.parameters(), parameters, strict=True):
                old.copy_((1 - BASE["tau"]) * old + BASE["tau"] * new)


def rows(batch: Transitions) -> list[tuple[Any, int, float, float, Any, int]]:
    columns = (batch.observations, batch.actions, batch.rewards, batch.discounts, batch.next_observations, batch.source)
    return [
        (s, int(a), float(r), float(d), after, int(source)) for s, a, r, d, after, source in zip(*columns, strict=True)
    ]


def stored() -> Transitions:
    """Contents of the memory after the live play: its decisions as transitions of one step at γ = 0.9."""
    play = live()
    after = play.observations[:, 1:].copy()
    after[1, 5] = play.finals.observations[0]
    return Transitions(
        observations=play.observations[:, :-1].reshape(-1, 2),
        actions=play.actions.ravel(),
        rewards=play.rewards.ravel(),
        discounts=np.where(play.terminated, 0.0, 0.9).astype(np.float32).ravel(),
        next_observations=after.reshape(-1, 2),
        source=np.full(play.actions.size, LIVE, dtype=np.int8),
    )


def test_updates_are_those_of_the_paper() -> None:
    settings = RlpdSettings(**BASE)
    network = EnsembleQ(2, ACTIONS, (6,), torch.Generator().manual_seed(0), 3)
    reference = Reference(network)
    generator = np.random.default_rng(SEED)
    learner = RlpdLearner(network, settings, torch.device("cpu"), generator)
    memory = TransitionMemory(LOOP.capacity, ObservationSpec((2,)))
    agent = RlpdAgent(learner, Demonstrations(demonstrations()), memory, LOOP, RunLog(Path()), generator)
    agent.learn(live(), NOW)

    random, have, shown = np.random.default_rng(SEED), stored(), demonstrations()
    found = contents(memory)
    for name in ("actions", "rewards", "discounts", "observations", "next_observations"):
        np.testing.assert_allclose(getattr(found, name), getattr(have, name), rtol=1e-6)
    for _ in range(4):  # a quarter of 16 decisions; a third of each batch of 9 is demonstrations
        drawn = rows(have[random.integers(16, size=6)])
        drawn += rows(shown[random.integers(10, size=3)])
        reference.update(drawn, random.choice(3, 2, replace=False).tolist())
    for mine, theirs in ((learner.network, reference.online), (learner.target, reference.target)):
        for weights, expected in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(weights.detach().double(), expected.detach(), rtol=0, atol=2e-6)
    moved = max(
        float((a - b).detach().abs().max())
        for a, b in zip(reference.online.parameters(), reference.target.parameters(), strict=True)
    )
    assert moved > 0.01  # or the comparison would say little


def test_the_diagnosis_is_of_the_batch_before_the_step() -> None:
    settings = RlpdSettings(**BASE | {"subset": 3, "reward_scale": 1.0})
    network = EnsembleQ(2, ACTIONS, (6,), torch.Generator().manual_seed(0), 3)
    before = copy.deepcopy(network)
    learner = RlpdLearner(network, settings, torch.device("cpu"), np.random.default_rng(0))
    assert learner.update(demonstrations(), STILL) is None
    learner = RlpdLearner(copy.deepcopy(before), settings, torch.device("cpu"), np.random.default_rng(0))
    batch = demonstrations()
    batch.discounts[:] = 0.0
    stats = learner.update(batch, STILL, diagnose=True)
    assert stats is not None
    with torch.no_grad():
        q = before.member_values(torch.from_numpy(batch.observations))[
            :, torch.arange(10), torch.from_numpy(batch.actions)
        ]
    errors = torch.from_numpy(batch.rewards) - q
    assert stats.scalars["value"] == pytest.approx(float(q.mean()), abs=1e-6)
    assert stats.scalars["q_error"] == pytest.approx(float(errors.square().mean().sqrt()), abs=1e-6)
    assert stats.scalars["disagreement"] == pytest.approx(float(q.std(0, correction=0).mean()), abs=1e-6)
    assert stats.by_source == {"demonstrations": {"td_error": pytest.approx(float(errors.abs().mean()), abs=1e-6)}}


def test_a_resumed_learner_goes_on_with_its_target_and_optimiser() -> None:
    one, other = (
        RlpdLearner(
            EnsembleQ(2, ACTIONS, (6,), torch.Generator().manual_seed(seed), 3),
            RlpdSettings(**BASE | {"subset": 3}),
            torch.device("cpu"),
            np.random.default_rng(0),
        )
        for seed in range(2)
    )
    for _ in range(3):
        one.update(demonstrations(), NOW)
    other.set_state(one.get_state())
    for learner in (one, other):
        learner.update(demonstrations(), NOW)
    for mine, theirs in ((one.network, other.network), (one.target, other.target)):
        assert all(map(torch.equal, mine.parameters(), theirs.parameters()))
