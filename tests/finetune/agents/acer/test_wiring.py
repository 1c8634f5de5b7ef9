"""ACER's agent: what reaches its learner, and from where."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.datasets.reader import open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.acer.agent import AcerAgent, ReturnRange, build
from qwop.finetune.agents.acer.learner import AcerLearner
from qwop.finetune.agents.acer.settings import AcerLoopSettings, AcerSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences
from qwop.finetune.log import RunLog, UpdateStats
from qwop.finetune.replay.behaviour import Behaviour
from qwop.finetune.replay.demonstrations import Demonstrations, RecordedSequences
from qwop.finetune.replay.sequence_memory import SequenceMemory
from qwop.finetune.replay.settings import BehaviourSettings
from qwop.finetune.schedules.phase import Phase, PhaseValues, Ramp
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

from ...runs import make_run

SEEN = ObservationSpec((2,))
LOOP = AcerLoopSettings(num_envs=4, steps=4, capacity=40, start=9, replay_ratio=3.0)
NOW = PhaseValues(
    gamma=0.99, demonstrations=1.0, learning_rate=0.5, imitation=0.3, entropy=0.2, uses_demonstrations=True
)


@dataclass
class Update:
    batch: Sequences
    now: PhaseValues
    diagnose: bool


class Recording(AcerLearner):
    """Keeps what its updates are called with, and learns nothing; π is a constant that the test sets."""

    def __init__(self) -> None:
        super().__init__(ActorCritic(2, 3, (4,)), AcerSettings(), torch.device("cpu"))
        self.updates: list[Update] = []
        self.pi = np.array([0.2, 0.3, 0.5], dtype=np.float32)

    def update(self, batch: Sequences, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        self.updates.append(Update(batch, now, diagnose))
        return None

    def probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.tile(self.pi, (len(observations), 1))


@pytest.fixture
def make_agent(make_episode: Callable[..., Episode]) -> Any:
    def make(mode: str = "current", loop: AcerLoopSettings = LOOP) -> tuple[AcerAgent, Recording]:
        learner = Recording()
        demonstrations = Demonstrations(RecordedSequences([make_episode(60, first=1e6)], 4, 0.9), streams=4, stride=4)
        behaviour = Behaviour(BehaviourSettings(mode=mode))
        memory = SequenceMemory(loop.capacity, loop.steps, SEEN, 3)
        returns, generator = ReturnRange(loop.num_envs), np.random.default_rng(0)
        return AcerAgent(learner, memory, demonstrations, behaviour, returns, loop, RunLog(Path()), generator), learner

    return make


def test_one_update_on_the_live_sequences_alone_comes_first(
    make_agent: Any, make_sequences: Callable[..., Sequences]
) -> None:
    agent, learner = make_agent()
    for number in range(3):
        live = make_sequences(4, first=4 * number)
        before = len(learner.updates)
        agent.learn(live, NOW)
        first = learner.updates[before]
        assert first.batch is live
        assert set(first.batch.source) == {LIVE}


def test_the_factors_of_the_phase_reach_every_update(make_agent: Any, make_sequences: Callable[..., Sequences]) -> None:
    agent, learner = make_agent()
    for critic_only in (False, True):
        learner.updates.clear()
        now = NOW._replace(critic_only=critic_only)
        for number in range(4):
            agent.learn(make_sequences(4, first=4 * number), now)
        assert len(learner.updates) > 4
        assert {one.now for one in learner.updates} == {now}


def test_the_first_update_from_memory_is_diagnosed(make_agent: Any, make_sequences: Callable[..., Sequences]) -> None:
    agent, learner = make_agent()
    agent.learn(make_sequences(4), NOW)
    while len(learner.updates) < 3:
        learner.updates.clear()
        agent.learn(make_sequences(4), NOW)
    assert [one.diagnose for one in learner.updates[:3]] == [False, True, False]


def test_demonstrations_enter_the_memory_as_the_phase_says(
    make_agent: Any, make_sequences: Callable[..., Sequences]
) -> None:
    agent, _ = make_agent()
    for number in range(4):
        agent.learn(make_sequences(4, first=4 * number), NOW._replace(demonstrations=0.125))
    assert len(agent.memory) == 4 * 4 + 2


def test_memory_is_sampled_once_it_holds_enough(make_agent: Any, make_sequences: Callable[..., Sequences]) -> None:
    agent, learner = make_agent()
    agent.learn(make_sequences(4), NOW)
    assert len(agent.memory) == 8  # with as many demonstrations; one fewer than `start`
    assert len(learner.updates) == 1
    replayed = []
    for number in range(1, 200):
        learner.updates.clear()
        agent.learn(make_sequences(4, first=4 * number), NOW)
        replayed += learner.updates[1:]
    assert len(replayed) / 199 == pytest.approx(LOOP.replay_ratio, abs=0.3)
    drawn = np.concatenate([one.batch.source for one in replayed])
    assert (drawn == DEMONSTRATIONS).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("mode", ["current", "current_at_sampling"])
def test_the_behaviour_of_demonstrations_is_the_policys_at_the_moment_that_the_mode_says(
    make_agent: Any, make_sequences: Callable[..., Sequences], mode: str
) -> None:
    agent, learner = make_agent(mode)
    inserted, later = learner.pi, np.array([0.6, 0.3, 0.1], dtype=np.float32)
    agent.learn(make_sequences(4), NOW)
    learner.pi = later
    drawn: list[Sequences] = []
    for _ in range(20):
        learner.updates.clear()
        agent.learn(make_sequences(4), NOW._replace(demonstrations=0.0))
        drawn += [one.batch for one in learner.updates[1:]]
    shown = np.concatenate([batch.behaviour_probabilities[batch.source == DEMONSTRATIONS] for batch in drawn])
    live = np.concatenate([batch.behaviour_probabilities[batch.source == LIVE] for batch in drawn])
    assert len(shown) > 0
    assert (shown == (inserted if mode == "current" else later)).all()
    assert (live == np.float32(1 / 3)).all()


def test_another_environment_empties_the_memory(make_agent: Any, make_sequences: Callable[..., Sequences]) -> None:
    agent, _ = make_agent()
    agent.learn(make_sequences(4), NOW)
    agent.change_environment()
    assert len(agent.memory) == 0


def test_a_phase_without_demonstrations_removes_them_at_once(
    make_agent: Any, make_sequences: Callable[..., Sequences]
) -> None:
    agent, _ = make_agent()
    agent.learn(make_sequences(4), NOW)
    agent.begin_phase(Phase("mixed", 1.0, demonstrations=Ramp(1.0, 0.0)))
    assert agent.memory.shares()["demonstrations"] == 0.5
    agent.begin_phase(Phase("alone", 1.0))
    assert agent.memory.shares() == {"live": 1.0, "demonstrations": 0.0}


def test_a_phase_that_does_not_play_learns_from_demonstrations_alone(
    make_agent: Any, make_sequences: Callable[..., Sequences]
) -> None:
    agent, _ = make_agent()
    agent.learn(make_sequences(4), NOW)
    agent.begin_phase(Phase("shown", 1.0, live=False, demonstrations=Ramp(1.0, 1.0)))
    assert agent.memory.shares() == {"live": 0.0, "demonstrations": 1.0}


def test_values_are_bounded_by_the_returns_of_live_episodes_and_of_demonstrations(
    make_agent: Any, make_sequences: Callable[..., Sequences], tmp_path: Path, make_episode: Callable[..., Episode]
) -> None:
    agent, learner = make_agent()
    live = make_sequences(4)
    live.rewards[:] = 1.0
    agent.learn(live, NOW)
    assert learner.bounds is None  # no episode has ended
    live.terminated[0, 2] = True
    agent.learn(live, NOW)
    gamma, scale = NOW.gamma, learner.settings.reward_scale
    whole = sum(gamma**t for t in range(7))  # four steps of the sequence before, three of this one
    assert learner.bounds == pytest.approx((-0.25 * whole * scale, 1.25 * whole * scale))
    assert agent.measurements()["learner/value_high"] == pytest.approx(1.25 * whole * scale)
    agent.change_environment()
    agent.learn(make_sequences(4), NOW)
    assert learner.bounds is None

    spec = EnvironmentSpec("CartPole-v1")
    DatasetWriter(tmp_path / "demos", DatasetInfo(spec, ObservationSpec((4,)), 2)).write(
        make_episode(3, actions=2, shape=(4,), first=1.0)
    )
    policy = Policy(ActorCritic(4, 2, (8,)), spec, ObservationSpec((4,)))
    phases = (Phase("mixed", 1.0, demonstrations=Ramp(1.0, 1.0)),)
    for algorithm, bounds in (
        (AcerSettings(gamma=0.5), (-0.25 * 3.5 * 0.1, 1.25 * 3.5 * 0.1)),
        (AcerSettings(gamma=0.5, bound_values=False), None),
    ):
        built = build(make_run(phases, algorithm, LOOP, policy, open_dataset(tmp_path / "demos")))
        built.learn(None, NOW)
        found = built.learner.bounds
        assert found == (None if bounds is None else pytest.approx(bounds))


def test_the_values_of_an_untrained_policy_are_not_fitted(
    make_agent: Any, make_sequences: Callable[..., Sequences]
) -> None:
    loop = LOOP.with_(value_decisions=40)
    for mu, fitted in (([0.33, 0.33, 0.34], False), ([0.6, 0.2, 0.2], True)):
        agent, learner = make_agent(loop=loop)
        played = make_sequences(4)
        played.behaviour_probabilities[:] = mu
        before = learner.network.q_head.weight.detach().clone()
        agent.fit_initial_values(lambda played=played: played, NOW)
        assert torch.equal(before, learner.network.q_head.weight) is not fitted
        assert len(agent.memory) == 12  # three times what 40 decisions need, rounded up


@pytest.mark.parametrize("pause", ["interrupt", "phase"])
def test_the_return_of_a_game_that_was_dropped_does_not_count(
    make_agent: Any, make_sequences: Callable[..., Sequences], pause: str
) -> None:
    agent, learner = make_agent()
    live = make_sequences(4)
    live.rewards[:] = 1.0
    agent.learn(live, NOW)
    if pause == "interrupt":
        agent.drop_partial_episodes()
    else:
        agent.begin_phase(Phase("shown", 1.0, live=False, demonstrations=Ramp(1.0, 1.0)))
    live.terminated[0, 0] = True
    agent.learn(live, NOW)
    assert learner.bounds == pytest.approx((-0.25 * 0.1, 1.25 * 0.1))


def test_play_before_the_schedule_is_fitted_stored_and_counted_at_the_discount_of_the_first_phase(
    make_agent: Any, make_sequences: Callable[..., Sequences], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, learner = make_agent(loop=LOOP.with_(value_decisions=16))
    fitted: list[float] = []
    monkeypatch.setattr(learner, "fit_values", lambda played, gamma: fitted.append(gamma))
    played = make_sequences(4)
    played.rewards[:], played.terminated[0, 1] = 1.0, True
    played.behaviour_probabilities[:] = [0.6, 0.2, 0.2]
    agent.fit_initial_values(lambda: played, NOW._replace(gamma=0.5))
    agent.learn(make_sequences(4), NOW._replace(gamma=0.5))
    assert fitted == [0.5]
    assert learner.bounds == pytest.approx((-0.25 * 1.5 * 0.1, 1.25 * 1.5 * 0.1))
