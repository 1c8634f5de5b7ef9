"""Deep Q-learning: whole iterations against a float64 reference of the papers, and what reaches memory and learner."""

import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.dqn.learner import DqnAgent, DqnLearner, new_network
from qwop.finetune.agents.dqn.settings import DdqnLoopSettings, DdqnSettings, DqnSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Transitions
from qwop.finetune.log import RunLog
from qwop.finetune.replay.demonstrations import Demonstrations
from qwop.finetune.replay.transition_memory import EPSILON, PrioritisedMemory, TransitionMemory
from qwop.finetune.schedules.phase import PhaseValues
from qwop.policies.q_networks import QNetwork
from torch import Tensor

from ...fakes import CPU, make_play
from ...replay.contents import contents
from ...runs import NOW
from ..learners import transitions
from ..reference import Adam

STREAMS, STEPS, ACTIONS, ITERATIONS, SEED = 2, 6, 3, 5, 11
SEEN = ObservationSpec((2,))
MIXED = PhaseValues(gamma=0.8**0.5, demonstrations=0.5, learning_rate=0.7, imitation=0.6, uses_demonstrations=True)
SMALL = {"hidden": (8,), "learning_rate": 0.02, "max_gradient_norm": 0.5, "reward_scale": 0.6, "adam_epsilon": 0.1}
"""With an ε of Adam so large that the size of a gradient shows in its steps."""
LOOP = {"num_envs": STREAMS, "steps": STEPS, "capacity": 40, "batch_size": 8}

CASES: dict[str, tuple[DqnSettings, dict[str, Any], PhaseValues]] = {
    "plain": (
        DqnSettings(**SMALL, clip_rewards=True),
        {"start": 12, "train_every": 3, "target_every": 12},
        PhaseValues(gamma=0.8),
    ),
    "Adam": (
        DqnSettings(**SMALL, optimiser="adam"),
        {"start": 12, "train_every": 3, "target_every": 12},
        PhaseValues(gamma=0.8, learning_rate=0.5),
    ),
    "prioritised": (
        DdqnSettings(**SMALL, gamma=0.8, gamma_rate=9.0, n_steps=3, margin=0.8, alpha=0.7, beta_start=0.3),
        {"start": 25, "train_every": 5.0, "target_every": 15, "capacity": 500},
        MIXED,
    ),
}

Row = tuple[NDArray[np.float32], int, float, float, NDArray[np.float32], int]
"""s, a, R, d, s', source."""


class Reference:
    """DQN (Mnih et al. 2015), double (van Hasselt et al. 2016), prioritised (Schaul et al. 2016), with DQfD's margin.

    One transition at a time, from a memory that is a list, in float64.
    """

    def __init__(
        self, network: torch.nn.Module, settings: DqnSettings, loop: DdqnLoopSettings, now: PhaseValues
    ) -> None:
        self.online, self.target = (copy.deepcopy(network).double() for _ in range(2))
        self.s, self.loop, self.now = settings, loop, now
        self.memory: list[Row] = []
        self.priorities: list[float] = []
        self.largest = 1.0
        self.generator = np.random.default_rng(SEED)
        self.adam = Adam([*self.online.parameters()], settings.adam_epsilon, settings.max_gradient_norm, each=True)
        self.centred = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.online.parameters()]
        self.since_copy, self.updates_due = 0.0, 0.0
        self.begun = [0] * STREAMS

    def transitions(self, upto: int) -> list[Row]:
        """The n-step transitions of live play that are complete after `upto` steps and were not before."""
        parts = make_play(ITERATIONS)
        rewards = np.concatenate([part.rewards for part in parts], axis=1).astype(np.float64)
        rewards = rewards.clip(-1, 1) if self.s.clip_rewards else rewards
        actions, terminated, truncated = (
            np.concatenate([getattr(part, name) for part in parts], axis=1)
            for name in ("actions", "terminated", "truncated")
        )
        seen = np.concatenate([parts[0].observations, *(part.observations[:, 1:] for part in parts[1:])], axis=1)
        finals = {
            (int(i), int(t) + STEPS * number): after
            for number, part in enumerate(parts)
            for i, t, after in zip(*part.finals, strict=True)
        }
        found: list[Row] = []
        for i in range(STREAMS):
            for start in range(self.begun[i], upto):
                total, discount = 0.0, None
                for t in range(start, min(start + self.s.n_steps, upto)):
                    total += self.now.gamma ** (t - start) * rewards[i, t]
                    if terminated[i, t] or truncated[i, t] or t - start == self.s.n_steps - 1:
                        discount = 0.0 if terminated[i, t] else self.now.gamma ** (t - start + 1)
                        after = finals[i, t] if truncated[i, t] else seen[i, t + 1]
                        break
                if discount is None:
                    break
                found.append((seen[i, start], int(actions[i, start]), total, discount, after, LIVE))
                self.begun[i] = start + 1
        return found

    def observe(self, number: int) -> None:
        """Live transitions and half as many demonstrations as decisions, evenly mixed, at the largest priority."""
        live, demos = self.transitions((number + 1) * STEPS), list[Row]()
        if self.now.uses_demonstrations:
            shown, count = demonstrations(), STREAMS * STEPS // 2
            columns = shown.observations, shown.actions, shown.rewards, shown.discounts, shown.next_observations
            places = [(number * count + i) % len(shown) for i in range(count)]
            demos = [(*(column[i] for column in columns), DEMONSTRATIONS) for i in places]  # type: ignore[misc]
        ordered = [
            ((i + 0.5) / len(rows), kind, i, row)
            for kind, rows in enumerate((live, demos))
            for i, row in enumerate(rows)
        ]
        ordered.sort(key=lambda one: one[:3])
        self.memory += [row for *_, row in ordered]
        self.priorities += [self.largest] * len(ordered)

    def loss(self, row: Row) -> tuple[Tensor, float]:
        """The loss of one transition, before its weight, and its TD error."""
        s, action, reward, discount, after, source = row
        q = self.online(torch.from_numpy(np.asarray(s)).double())
        with torch.no_grad():
            following = torch.from_numpy(np.asarray(after)).double()
            best = int((self.online if self.s.double else self.target)(following).argmax())
            target = self.s.reward_scale * reward + discount * self.target(following)[best]
        delta = target - q[action]
        loss = torch.where(delta.abs() <= 1, delta**2 / 2, delta.abs() - 0.5)
        if source == DEMONSTRATIONS:
            margins = torch.full_like(q, self.s.margin)
            margins[action] = 0
            loss = loss + self.now.imitation * ((q + margins).max() - q[action])
        return loss, float(delta.detach())

    def sample(self, beta: float) -> tuple[list[int], NDArray[np.float64]]:
        """Places in memory, and importance weights. A ring of n: number m of n + k pushed lies in slot m % n."""
        held, size = len(self.memory), self.loop.capacity
        if not self.s.prioritised:
            slots = self.generator.integers(min(held, size), size=self.loop.batch_size)
            return [max(n for n in range(held) if n % size == slot) for slot in slots], np.ones(len(slots))
        powered = np.array(self.priorities) ** self.s.alpha
        uniform = self.generator.random(self.loop.batch_size) * powered.sum()
        places = np.searchsorted(np.cumsum(powered), uniform, side="right")
        weights = (held * powered[places] / powered.sum()) ** -beta
        return places.tolist(), weights / weights.max()

    def update(self, beta: float) -> None:
        places, weights = self.sample(beta)
        losses, errors = zip(*(self.loss(self.memory[place]) for place in places), strict=True)
        mean = torch.stack([w * loss for w, loss in zip(weights, losses, strict=True)]).mean()
        rate = self.s.learning_rate * self.now.learning_rate
        if self.s.optimiser == "adam":
            self.adam.step(mean, rate)
        else:
            for p, g, (m, n) in zip(self.online.parameters(), self.adam.clipped(mean), self.centred, strict=True):
                m.copy_(0.95 * m + 0.05 * g)
                n.copy_(0.95 * n + 0.05 * g**2)
                with torch.no_grad():
                    p -= rate * g / (n - m**2 + 0.01 / 32**2).sqrt()
        self.since_copy += self.loop.train_every
        if self.since_copy >= self.loop.target_every:
            self.since_copy -= self.loop.target_every
            self.target.load_state_dict(self.online.state_dict())
        for place, error in zip(places, errors, strict=True):
            self.priorities[place] = abs(error) + EPSILON
            self.largest = max(self.largest, self.priorities[place])

    def iterate(self, number: int) -> None:
        self.observe(number)
        if len(self.memory) < self.loop.start:
            return
        self.updates_due += STREAMS * STEPS / self.loop.train_every
        while self.updates_due >= 1:
            self.update(self.s.beta_start + (1 - self.s.beta_start) * number / ITERATIONS)
            self.updates_due -= 1


def demonstrations() -> Transitions:
    return replace(transitions(4, 10), source=np.full(10, DEMONSTRATIONS, dtype=np.int8))


@pytest.mark.parametrize("case", CASES)
def test_iterations_are_those_of_the_papers(case: str) -> None:
    settings, more, now = CASES[case]
    loop = DdqnLoopSettings(**{**LOOP, **more})
    network = new_network(settings, SEEN, ACTIONS, torch.Generator().manual_seed(0))
    reference = Reference(network, settings, loop, now)
    kind = (
        (PrioritisedMemory, loop.capacity, SEEN, settings.alpha)
        if settings.prioritised
        else (TransitionMemory, loop.capacity, SEEN)
    )
    memory: TransitionMemory = kind[0](*kind[1:])
    learner, generator = DqnLearner(network, settings, CPU), np.random.default_rng(SEED)
    agent = DqnAgent(learner, memory, Demonstrations(demonstrations()), loop, RunLog(Path()), generator)
    targets = []
    for number, live in enumerate(make_play(ITERATIONS)):
        agent.advance(number * STREAMS * STEPS, ITERATIONS * STREAMS * STEPS)
        agent.learn(live, now)
        reference.iterate(number)
        targets.append([p.clone() for p in learner.target.parameters()])
    stored, rows = contents(memory), reference.memory[-loop.capacity :]
    for column, name in enumerate(("observations", "actions", "rewards", "discounts", "next_observations", "source")):
        np.testing.assert_allclose(getattr(stored, name), [row[column] for row in rows], rtol=1e-5)
    for mine, theirs in ((network, reference.online), (learner.target, reference.target)):
        for weights, expected in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(weights.detach().double(), expected.detach(), rtol=0, atol=5e-6)
    # The comparison would say little about the target if it never moved, or about priorities if they were equal.
    assert sum(not torch.equal(a[0], b[0]) for a, b in pairwise(targets)) >= 2
    assert np.ptp(reference.priorities) > 1


def test_a_diagnosis_tells_the_sources_apart() -> None:
    learner = DqnLearner(
        QNetwork(2, 3, (8,), torch.Generator().manual_seed(0), dueling=True, layer_norm=True),
        DdqnSettings(reward_scale=1.0),
        CPU,
    )
    batch = replace(transitions(0, 8), source=np.array([LIVE] * 6 + [DEMONSTRATIONS] * 2, dtype=np.int8))
    errors, stats = learner.update(batch, NOW, np.array([1.0] * 6 + [0.5] * 2, dtype=np.float32), diagnose=True)
    assert stats.by_source["demonstrations"]["importance_weight"] == 0.5
    assert stats.by_source["live"]["td_error"] == pytest.approx(float(errors[:6].abs().mean()))
