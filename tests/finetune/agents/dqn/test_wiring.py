"""Double DQN's agent: what reaches its memory and its learner, and when."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.datasets.schema import Episode
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.dqn.learner import DqnAgent, DqnLearner
from qwop.finetune.agents.dqn.settings import DdqnLoopSettings, DdqnSettings
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.experience.transitions import Transitions
from qwop.finetune.log import RunLog, UpdateStats
from qwop.finetune.replay.demonstrations import Demonstrations, recorded_transitions
from qwop.finetune.replay.transition_memory import PrioritisedMemory
from qwop.finetune.schedules.phase import Phase, PhaseValues, Ramp
from qwop.policies.q_networks import DuelingQ
from torch import Tensor

from ...replay.contents import contents

SETTINGS = DdqnSettings(hidden=(4,), n_steps=3, gamma=0.9, gamma_rate=9.0, beta_start=0.4)
NOW = PhaseValues(gamma=0.9, learning_rate=0.5, imitation=0.3)


class Recording(DqnLearner):
    """Keeps what its updates are called with, and learns nothing; only action 1 brings errors."""

    def __init__(self) -> None:
        super().__init__(DuelingQ(2, 3, (4,)), SETTINGS, torch.device("cpu"))
        self.updates: list[tuple[Transitions, NDArray[np.float32], PhaseValues]] = []
        self.copies: list[int] = []

    def update(
        self, batch: Transitions, now: PhaseValues, weights: NDArray[np.float32], *, diagnose: bool = False
    ) -> tuple[Tensor, UpdateStats | None]:
        self.updates.append((batch, weights, now))
        return torch.from_numpy(batch.actions == 1).float(), None

    def copy_target(self) -> None:
        self.copies.append(len(self.updates))


def make_agent(stream: Demonstrations[Transitions] | None = None, **loop: Any) -> tuple[DqnAgent, Recording]:
    learner = Recording()
    settings = DdqnLoopSettings(
        **{"num_envs": 2, "steps": 4, "capacity": 400, "start": 8, "batch_size": 32, "train_every": 4.0, **loop}
    )
    memory = PrioritisedMemory(settings.capacity, ObservationSpec((2,)), alpha=1.0)
    return DqnAgent(learner, memory, stream, settings, RunLog(Path()), np.random.default_rng(0)), learner


def steps_stored(agent: DqnAgent) -> list[int]:
    """The steps of each stored transition: those that its observations are apart."""
    stored = contents(agent.memory)
    return [round(d) for d in (stored.next_observations[:, 0] - stored.observations[:, 0]).tolist()]


def test_updates_come_as_often_as_decisions_allow_and_the_target_follows(
    make_sequences: Callable[..., Sequences],
) -> None:
    agent, learner = make_agent(train_every=3.2, target_every=7)
    counts = []
    for number in range(6):
        agent.learn(make_sequences(2, first=10 * number), NOW)
        counts.append(len(learner.updates))
    # Six of the first eight transitions wait for the third step; then 8 decisions an iteration, 3.2 for each update.
    assert counts == [0, 2, 5, 7, 10, 12]
    # After 3 updates 2.6 of 9.6 decisions are left, then 2.0 of 9.0, 1.4, 0.8 and 0.2.
    assert learner.copies == [3, 5, 7, 9, 11]
    assert {now for *_, now in learner.updates} == {NOW}


def test_the_errors_of_an_update_become_priorities(make_sequences: Callable[..., Sequences]) -> None:
    agent, learner = make_agent(train_every=0.5, start=20)
    for number in range(3):
        agent.learn(make_sequences(2, first=10 * number), NOW)
    assert len(learner.updates) == 16
    assert set(learner.updates[0][0].actions) == {0, 1, 2}
    assert set(learner.updates[-1][0].actions) == {1}


def test_beta_rises_to_one_over_the_schedule() -> None:
    agent, _ = make_agent()
    found = []
    for decisions in (0, 50, 100, 200):
        agent.advance(decisions, 100)
        found.append(agent.measurements()["learner/beta"])
    assert found == pytest.approx([0.4, 0.7, 1.0, 1.0])


@pytest.mark.parametrize("pause", ["no live play", "new games"])
def test_steps_that_wait_are_forgotten_when_their_games_end(
    make_sequences: Callable[..., Sequences], pause: str
) -> None:
    agent, _ = make_agent()
    agent.learn(make_sequences(2), NOW)
    if pause == "new games":
        agent.drop_partial_episodes()
    else:
        agent.begin_phase(Phase("shown", 1.0, demonstrations=Ramp(1.0, 1.0), live=False))
    agent.learn(make_sequences(2, first=50), NOW)
    assert set(steps_stored(agent)) == {3}


def test_steps_that_wait_go_on_in_the_next_phase(make_sequences: Callable[..., Sequences]) -> None:
    agent, _ = make_agent()
    agent.learn(make_sequences(2), NOW)
    agent.begin_phase(Phase("more", 1.0))
    agent.learn(make_sequences(2, first=50), NOW)
    assert max(steps_stored(agent)) > 1000


def test_another_environment_empties_the_memory(make_sequences: Callable[..., Sequences]) -> None:
    agent, _ = make_agent()
    agent.learn(make_sequences(2), NOW._replace(gamma=0.8))
    assert contents(agent.memory).discounts == pytest.approx(0.8**3)
    agent.change_environment()
    assert len(agent.memory) == 0
    agent.learn(make_sequences(2, first=50), NOW)
    assert contents(agent.memory).discounts == pytest.approx(0.9**3)
    assert set(steps_stored(agent)) == {3}


def test_demonstrations_enter_the_memory_as_the_phase_says(
    make_episode: Callable[..., Episode], make_sequences: Callable[..., Sequences]
) -> None:
    agent, _ = make_agent(Demonstrations(recorded_transitions([make_episode(30)], SETTINGS, 0.9)))
    agent.learn(make_sequences(2), NOW._replace(demonstrations=0.25, uses_demonstrations=True))
    assert contents(agent.memory).source.sum() == 2  # a quarter of eight decisions
