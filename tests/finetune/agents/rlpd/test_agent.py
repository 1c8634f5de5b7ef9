"""RLPD's agent: what its batches hold, when it learns, and runs in the training loop."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.datasets.schema import Episode
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.rlpd.learner import RlpdAgent, RlpdLearner
from qwop.finetune.agents.rlpd.settings import RlpdLoopSettings, RlpdSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, Sequences
from qwop.finetune.experience.transitions import Transitions
from qwop.finetune.log import RunLog, UpdateStats
from qwop.finetune.replay.demonstrations import Demonstrations, recorded_transitions
from qwop.finetune.replay.transition_memory import TransitionMemory
from qwop.finetune.schedules.phase import Phase, PhaseValues, Ramp
from qwop.policies.q_networks import EnsembleQ

from ...replay.contents import contents

SETTINGS = RlpdSettings(hidden=(4,), members=2, subset=1, n_steps=3, gamma=0.9)
LOOP = RlpdLoopSettings(num_envs=2, steps=4, capacity=40, start=9, batch_size=10, updates_per_decision=0.5)
CARTPOLE = EnvironmentSpec("CartPole-v1")


class Recording(RlpdLearner):
    """Keeps what its updates are called with, and learns nothing."""

    def __init__(self) -> None:
        network = EnsembleQ(2, 3, (4,), members=2)
        super().__init__(network, SETTINGS, torch.device("cpu"), np.random.default_rng(0))
        self.updates: list[tuple[Transitions, PhaseValues, bool]] = []

    def update(self, batch: Transitions, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        self.updates.append((batch, now, diagnose))
        return None

    def shares(self) -> list[float]:
        """The share of demonstrations in each batch."""
        return [float((batch.source == DEMONSTRATIONS).mean()) for batch, *_ in self.updates]


def make_agent(episodes: list[Episode] | None, settings: RlpdLoopSettings = LOOP) -> tuple[RlpdAgent, Recording]:
    learner = Recording()
    memory = TransitionMemory(LOOP.capacity, ObservationSpec((2,)))
    shown = None if episodes is None else Demonstrations(recorded_transitions(episodes, SETTINGS, 0.9))
    return RlpdAgent(learner, shown, memory, settings, RunLog(Path()), np.random.default_rng(0)), learner


def values(demonstrations: float = 0.0, **more: Any) -> PhaseValues:
    return PhaseValues(**{"gamma": 0.9, **more}, demonstrations=demonstrations, uses_demonstrations=demonstrations > 0)


def test_the_share_of_demonstrations_in_a_batch_is_the_phases(
    make_episode: Callable[..., Episode], make_sequences: Callable[..., Sequences]
) -> None:
    agent, learner = make_agent([make_episode(20, first=1e6)])
    for number in range(40):
        agent.learn(make_sequences(2, first=2 * number), values())
    for asked, expected in ((1.0, 0.5), (0.25, 0.2), (0.5, 1 / 3), (0.0, 0.0)):
        learner.updates.clear()
        for _ in range(30):
            agent.learn(None, values(asked))
        assert np.mean(learner.shares()) == pytest.approx(expected, abs=0.01)
        assert all(len(batch) == 10 for batch, *_ in learner.updates)
    learner.updates.clear()
    agent.learn(None, values(0.5, live=False))
    assert learner.shares() == [1.0] * 4


def test_without_demonstrations_every_batch_is_live(make_sequences: Callable[..., Sequences]) -> None:
    agent, learner = make_agent(None)
    for number in range(40):
        agent.learn(make_sequences(2, first=2 * number), values())
    learner.updates.clear()
    agent.learn(None, values(1.0))
    assert learner.shares() == [0.0] * 4


def test_batches_are_drawn_from_all_that_is_stored(
    make_episode: Callable[..., Episode], make_sequences: Callable[..., Sequences]
) -> None:
    agent, learner = make_agent([make_episode(20, first=1e6)])
    for number in range(10):
        agent.learn(make_sequences(2, first=2 * number), values())
    learner.updates.clear()
    for _ in range(200):
        agent.learn(None, values(1.0))
    seen = np.concatenate([batch.observations[:, 0] for batch, *_ in learner.updates])
    assert len(np.unique(seen[seen >= 1e6])) == 20
    assert len(np.unique(seen[seen < 1e6])) == LOOP.capacity


def test_updates_come_as_often_as_decisions_allow_once_memory_holds_enough(
    make_sequences: Callable[..., Sequences],
) -> None:
    agent, learner = make_agent(None)
    now = values(learning_rate=0.5, imitation=0.3)
    done = []
    for number in range(4):
        agent.learn(make_sequences(2, first=2 * number), now)
        done.append(len(learner.updates))
    # Three-step transitions: 4 after the first iteration, which is too few, then 12, 20, 28.
    assert done == [0, 4, 8, 12]
    assert {used for _, used, _ in learner.updates} == {now}
    assert [diagnose for *_, diagnose in learner.updates] == [True, False, False, False] * 3


def test_another_environment_empties_the_memory(
    make_sequences: Callable[..., Sequences],
) -> None:
    agent, _ = make_agent(None)
    agent.learn(make_sequences(2), values())
    agent.change_environment()
    assert len(agent.memory) == 0
    agent.learn(make_sequences(2), values(gamma=0.8))
    np.testing.assert_allclose(contents(agent.memory).discounts, 0.8**3, rtol=1e-6)


@pytest.mark.parametrize("pause", ["interrupt", "phase"])
def test_no_transition_spans_a_pause(make_sequences: Callable[..., Sequences], pause: str) -> None:
    agent, _ = make_agent(None)
    agent.learn(make_sequences(2), values())
    if pause == "interrupt":
        agent.drop_partial_episodes()
    else:
        agent.begin_phase(Phase("shown", 1.0, live=False, demonstrations=Ramp(1.0, 1.0)))
    agent.learn(make_sequences(2), values())
    assert len(agent.memory) == 8
    agent.begin_phase(Phase("alone", 1.0))
    agent.learn(make_sequences(2), values())
    assert len(agent.memory) == 16


def test_epsilon_falls_along_the_schedule() -> None:
    agent, _ = make_agent(None)
    found = []
    for decisions in (0, 100, 200, 900):
        agent.advance(decisions, 1000)
        found.append(agent.measurements()["learner/epsilon"])
    assert found == pytest.approx([0.1, 0.055, 0.01, 0.01])
