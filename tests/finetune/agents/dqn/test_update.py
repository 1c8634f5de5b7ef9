"""Whole iterations of prioritised double DQN against a float64 reference written from the papers' equations."""

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.dqn.learner import DqnAgent, DqnLearner
from qwop.finetune.agents.dqn.settings import DdqnLoopSettings, DdqnSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences, TruncatedObservations
from qwop.finetune.experience.transitions import Transitions
from qwop.finetune.log import RunLog
from qwop.finetune.replay.demonstrations import Demonstrations
from qwop.finetune.replay.transition_memory import EPSILON, PrioritisedMemory
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.q_networks import DuelingQ
from torch import Tensor

from ...replay.contents import contents

STREAMS, STEPS, ACTIONS, ITERATIONS, SEED = 2, 6, 3, 4, 11
RATE = 18.0
NOW = PhaseValues(gamma=0.8**0.5, demonstrations=0.5, learning_rate=0.7, imitation=0.6, uses_demonstrations=True)

BASE: dict[str, Any] = {
    "gamma": 0.8,
    "gamma_rate": 9.0,
    "n_steps": 3,
    "learning_rate": 0.02,
    "adam_epsilon": 0.1,  # so large that the size of a gradient shows in Adam's steps
    "max_gradient_norm": 0.5,
    "reward_scale": 0.6,
    "margin": 0.8,
    "hidden": (8,),
    "alpha": 0.7,
    "beta_start": 0.3,
}
LOOP = DdqnLoopSettings(
    num_envs=STREAMS, steps=STEPS, capacity=500, start=25, batch_size=8, train_every=5.0, target_every=15
)

Row = tuple[NDArray[np.float32], int, float, float, NDArray[np.float32], int]
"""s, a, R, d, s', source."""


def play() -> tuple[list[Sequences], NDArray[np.bool_], NDArray[np.bool_], dict[tuple[int, int], NDArray[np.float32]]]:
    """Games under way over all iterations: cut into sequences, and their ends, limits and final observations."""
    random, total = np.random.default_rng(3), STEPS * ITERATIONS
    observations = random.normal(size=(STREAMS, total + 1, 2)).astype(np.float32)
    actions, rewards = random.integers(ACTIONS, size=(STREAMS, total)), random.normal(1.0, 2.0, size=(STREAMS, total))
    terminated, truncated = random.random((2, STREAMS, total)) < 0.12
    finals = {(int(i), int(t)): random.normal(size=2).astype(np.float32) for i, t in np.argwhere(truncated)}
    parts = []
    for start in range(0, total, STEPS):
        here = slice(start, start + STEPS)
        sequence, step = truncated[:, here].nonzero()
        seen = [finals[int(i), int(t) + start] for i, t in zip(sequence, step, strict=True)]
        parts.append(
            Sequences(
                observations=observations[:, start : start + STEPS + 1],
                actions=actions[:, here],
                rewards=rewards[:, here].astype(np.float32),
                behaviour_probabilities=np.full((STREAMS, STEPS, ACTIONS), 1 / ACTIONS, dtype=np.float32),
                terminated=terminated[:, here],
                truncated=truncated[:, here],
                finals=TruncatedObservations(sequence, step, np.array(seen, dtype=np.float32).reshape(-1, 2)),
                source=np.full(STREAMS, LIVE, dtype=np.int8),
            )
        )
    return parts, terminated, truncated, finals


def demonstrations() -> Transitions:
    random, n = np.random.default_rng(4), 10
    return Transitions(
        observations=random.normal(size=(n, 2)).astype(np.float32),
        actions=random.integers(ACTIONS, size=n),
        rewards=random.normal(size=n).astype(np.float32),
        discounts=random.choice([0.0, 0.5], size=n).astype(np.float32),
        next_observations=random.normal(size=(n, 2)).astype(np.float32),
        source=np.full(n, DEMONSTRATIONS, dtype=np.int8),
    )


class Reference:
    """Double DQN (van Hasselt et al. 2016) with prioritised replay (Schaul et al. 2016) and DQfD's margin, in float64.

    One transition at a time, from a memory that is a list.
    """

    def __init__(self, network: DuelingQ, settings: dict[str, Any]) -> None:
        self.online, self.target = (copy.deepcopy(network).double() for _ in range(2))
        self.s = settings
        self.gamma = settings["gamma"] ** (settings["gamma_rate"] / RATE)  # the same horizon in seconds
        self.memory: list[Row] = []
        self.priorities: list[float] = []
        self.largest = 1.0
        self.generator = np.random.default_rng(SEED)
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.online.parameters()]
        self.steps, self.decisions_since_copy, self.updates_due = 0, 0.0, 0.0
        self.begun = [0] * STREAMS

    def transitions(self, upto: int) -> list[Row]:
        """The n-step transitions of live play that are complete after `upto` steps and were not before."""
        parts, terminated, truncated, finals = play()
        rewards = np.concatenate([part.rewards for part in parts], axis=1).astype(np.float64)
        actions = np.concatenate([part.actions for part in parts], axis=1)
        seen = np.concatenate([parts[0].observations, *(part.observations[:, 1:] for part in parts[1:])], axis=1)
        found: list[Row] = []
        for i in range(STREAMS):
            for start in range(self.begun[i], upto):
                total, after, discount = 0.0, seen[i, start], None
                for j in range(self.s["n_steps"]):
                    t = start + j
                    if t >= upto:
                        break
                    total += self.gamma**j * rewards[i, t]
                    over = terminated[i, t] or truncated[i, t]
                    if over or j == self.s["n_steps"] - 1:
                        discount = 0.0 if terminated[i, t] else self.gamma ** (j + 1)
                        after = finals[i, t] if truncated[i, t] else seen[i, t + 1]
                        break
                if discount is None:
                    break
                found.append((seen[i, start], int(actions[i, start]), total, discount, after, LIVE))
                self.begun[i] = start + 1
        return found

    def observe(self, number: int) -> None:
        """Live transitions and half as many demonstrations as decisions, evenly mixed, at the largest priority."""
        live, shown, count = self.transitions((number + 1) * STEPS), demonstrations(), STREAMS * STEPS // 2
        places = [(number * count + i) % len(shown) for i in range(count)]
        columns = shown.observations, shown.actions, shown.rewards, shown.discounts, shown.next_observations
        demos: list[Row] = [(*(column[i] for column in columns), DEMONSTRATIONS) for i in places]  # type: ignore[misc]
        ordered = [((i + 0.5) / len(live), 0, i, row) for i, row in enumerate(live)]
        ordered += [((i + 0.5) / len(demos), 1, i, row) for i, row in enumerate(demos)]
        ordered.sort(key=lambda one: one[:3])
        self.memory += [row for *_, row in ordered]
        self.priorities += [self.largest] * len(ordered)

    def loss(self, row: Row, imitation: float) -> tuple[Tensor, float]:
        """The loss of one transition, before its weight, and its TD error."""
        s, action, reward, discount, after, source = row
        q = self.online(torch.from_numpy(np.asarray(s)).double())
        with torch.no_grad():
            following = torch.from_numpy(np.asarray(after)).double()
            best = int(self.online(following).argmax())
            target = self.s["reward_scale"] * reward + discount * self.target(following)[best]
        delta = target - q[action]
        error = float(delta.detach())
        loss = torch.where(delta.abs() <= 1, delta**2 / 2, delta.abs() - 0.5)
        if source == DEMONSTRATIONS:
            margins = torch.full_like(q, self.s["margin"])
            margins[action] = 0
            loss = loss + imitation * ((q + margins).max() - q[action])
        return loss, error

    def update(self, beta: float) -> None:
        powered = np.array(self.priorities) ** self.s["alpha"]
        total = powered.sum()
        slots = np.searchsorted(np.cumsum(powered), self.generator.random(LOOP.batch_size) * total, side="right")
        weights = (len(powered) * powered[slots] / total) ** -beta
        weights /= weights.max()
        losses, errors = zip(*(self.loss(self.memory[slot], NOW.imitation) for slot in slots), strict=True)
        mean = torch.stack([w * loss for w, loss in zip(weights, losses, strict=True)]).mean()
        self.steps += 1
        parameters = list(self.online.parameters())
        for p, g, moment in zip(parameters, torch.autograd.grad(mean, parameters), self.moments, strict=True):
            clipped = g * min(1.0, self.s["max_gradient_norm"] / float(g.norm() + 1e-300))
            moment[0].mul_(0.9).add_(0.1 * clipped)
            moment[1].mul_(0.999).add_(0.001 * clipped**2)
            first, second = moment[0] / (1 - 0.9**self.steps), moment[1] / (1 - 0.999**self.steps)
            rate = self.s["learning_rate"] * NOW.learning_rate
            with torch.no_grad():
                p -= rate * first / (second.sqrt() + self.s["adam_epsilon"])
        self.decisions_since_copy += LOOP.train_every
        if self.decisions_since_copy >= LOOP.target_every:
            self.decisions_since_copy -= LOOP.target_every
            self.target.load_state_dict(self.online.state_dict())
        for slot, error in zip(slots, errors, strict=True):
            self.priorities[slot] = abs(error) + EPSILON
            self.largest = max(self.largest, self.priorities[slot])

    def iterate(self, number: int) -> None:
        self.observe(number)
        if len(self.memory) < LOOP.start:
            return
        self.updates_due += STREAMS * STEPS / LOOP.train_every
        while self.updates_due >= 1:
            self.update(self.s["beta_start"] + (1 - self.s["beta_start"]) * number / ITERATIONS)
            self.updates_due -= 1


def test_iterations_are_those_of_the_papers() -> None:
    settings = DdqnSettings(**BASE)
    network = DuelingQ(2, ACTIONS, (8,), torch.Generator().manual_seed(0))
    reference = Reference(network, BASE)
    memory = PrioritisedMemory(LOOP.capacity, ObservationSpec((2,)), settings.alpha)
    agent = DqnAgent(
        DqnLearner(network, settings, torch.device("cpu")),
        memory,
        Demonstrations(demonstrations()),
        LOOP,
        RunLog(Path()),
        np.random.default_rng(SEED),
    )
    targets = []
    for number, live in enumerate(play()[0]):
        agent.advance(number * STREAMS * STEPS, ITERATIONS * STREAMS * STEPS)
        agent.learn(live, NOW)
        reference.iterate(number)
        targets.append([p.clone() for p in agent.learner.target.parameters()])

    stored = contents(memory)
    for column, name in ((1, "actions"), (2, "rewards"), (3, "discounts"), (5, "source")):
        np.testing.assert_allclose(getattr(stored, name), [row[column] for row in reference.memory], rtol=1e-5)
    np.testing.assert_array_equal(stored.next_observations, [row[4] for row in reference.memory])
    for mine, theirs in ((agent.learner.network, reference.online), (agent.learner.target, reference.target)):
        for weights, expected in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(weights.detach().double(), expected.detach(), rtol=0, atol=5e-6)
    # The comparison would say little about the target if it never moved, or about priorities if they were equal.
    assert sum(not torch.equal(a[0], b[0]) for a, b in pairwise(targets)) >= 2
    assert np.ptp(reference.priorities) > 1
