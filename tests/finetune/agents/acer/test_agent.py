"""ACER's agent: what reaches its memory and its learner, and when."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.datasets.embedded import embedded_dataset
from qwop.datasets.reader import open_dataset
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.acer.learner import MARGIN, AcerAgent, AcerLearner, ReturnRange, build, discounted_returns
from qwop.finetune.agents.acer.settings import AcerLoopSettings, AcerSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences
from qwop.finetune.log import RunLog, UpdateStats
from qwop.finetune.replay.behaviour import Behaviour
from qwop.finetune.replay.demonstrations import Demonstrations, RecordedSequences
from qwop.finetune.replay.memory import SequenceMemory
from qwop.finetune.replay.settings import BehaviourSettings
from qwop.finetune.schedules.phase import FULL, Phase, PhaseValues, Ramp
from qwop.policies.networks import Actor, ActorCritic
from qwop.policies.policy import Policy

from ...fakes import CARTPOLE, CPU, make_episode, make_sequences
from ...runs import make_run

SEEN = ObservationSpec((2,))
LOOP = AcerLoopSettings(num_envs=4, steps=4, capacity=40, start=9, replay_ratio=3.0)
NOW = PhaseValues(
    gamma=0.99, demonstrations=1.0, learning_rate=0.5, imitation=0.3, entropy=0.2, uses_demonstrations=True
)
SHOWN = Phase("shown", 1.0, live=False, demonstrations=FULL)


@dataclass
class Update:
    batch: Sequences
    now: PhaseValues
    diagnose: bool


class Recording(AcerLearner):
    """Keeps what its updates are called with, and learns nothing; π is a constant that the test sets."""

    def __init__(self) -> None:
        super().__init__(ActorCritic(2, 3, (4,)), AcerSettings(reward_scale=0.1), CPU)
        self.updates: list[Update] = []
        self.pi = np.array([0.2, 0.3, 0.5], dtype=np.float32)

    def update(self, batch: Sequences, now: PhaseValues, *, diagnose: bool = False) -> UpdateStats | None:
        self.updates.append(Update(batch, now, diagnose))
        return None

    def probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.tile(self.pi, (len(observations), 1))


def make_agent(mode: str = "current", loop: AcerLoopSettings = LOOP) -> tuple[AcerAgent, Recording]:
    learner, memory = Recording(), SequenceMemory(loop.capacity, loop.steps, SEEN, 3)
    demonstrations = Demonstrations(RecordedSequences([make_episode(60, first=1e6)], 4, 0.9), streams=4, stride=4)
    behaviour, generator = Behaviour(BehaviourSettings(mode=mode)), np.random.default_rng(0)
    return AcerAgent(learner, memory, demonstrations, loop, RunLog(Path()), generator, behaviour), learner


def test_an_update_on_live_play_comes_first_and_the_next_is_diagnosed_each_with_the_phases_values() -> None:
    agent, learner = make_agent()
    now = NOW._replace(critic_only=True)
    for number in range(6):
        live = make_sequences(4, first=4 * number)
        learner.updates.clear()
        agent.learn(live, now)
        assert learner.updates[0].batch is live
        assert [one.diagnose for one in learner.updates] == [False, True, *[False] * 20][: len(learner.updates)]
        assert {one.now for one in learner.updates} == {now}
    assert len(learner.updates) > 1


def test_memory_is_sampled_once_it_holds_enough() -> None:
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
def test_the_behaviour_of_demonstrations_is_the_policys_at_the_moment_that_the_mode_says(mode: str) -> None:
    agent, learner = make_agent(mode)
    inserted, later = learner.pi, np.array([0.6, 0.3, 0.1], dtype=np.float32)
    agent.learn(make_sequences(4), NOW)
    learner.pi = later
    drawn: list[Sequences] = []
    for _ in range(20):
        learner.updates.clear()
        agent.learn(make_sequences(4), NOW._replace(demonstrations=0.0))
        drawn += [one.batch for one in learner.updates[1:]]
    shown, live = (
        np.concatenate([batch.behaviour_probabilities[batch.source == source] for batch in drawn])
        for source in (DEMONSTRATIONS, LIVE)
    )
    assert len(shown) > 0
    assert (shown == (inserted if mode == "current" else later)).all()
    assert (live == np.float32(1 / 3)).all()


def test_demonstrations_enter_and_leave_the_memory_as_the_phase_says() -> None:
    agent, _ = make_agent()
    for number in range(4):
        agent.learn(make_sequences(4, first=4 * number), NOW._replace(demonstrations=0.125))
    assert len(agent.memory) == 4 * 4 + 2
    agent.begin_phase(Phase("mixed", 1.0, demonstrations=Ramp(1.0, 0.0)))
    assert agent.memory.shares()["demonstrations"] == pytest.approx(2 / 18)
    agent.begin_phase(Phase("alone", 1.0))
    assert agent.memory.shares() == {"live": 1.0, "demonstrations": 0.0}
    agent.learn(make_sequences(4), NOW)
    agent.begin_phase(SHOWN)
    assert agent.memory.shares() == {"live": 0.0, "demonstrations": 1.0}
    agent.change_environment()
    assert len(agent.memory) == 0


def test_demonstrations_are_half_of_the_memory_at_first_and_fewer_as_their_rate_falls() -> None:
    agent, _ = make_agent()
    phase, shares = Phase("fade", 1.0, demonstrations=Ramp(1.0, 0.0)), []
    for number in range(40):
        agent.learn(make_sequences(4, first=4 * number), phase.at(number / 40, gamma=0.99))
        shares.append(agent.memory.shares()["demonstrations"])
    assert max(shares) == shares[0] == 0.5
    assert shares[-1] < 0.15


def test_it_continues_the_policy_of_ppo(tmp_path: Path) -> None:
    actor = Actor(4, 2, (16,), torch.Generator().manual_seed(3))
    agent = build(make_run((Phase("x", 1.0),), AcerSettings(), LOOP, Policy(actor, CARTPOLE, ObservationSpec((4,)))))
    seen = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    with torch.no_grad():
        expected = torch.softmax(actor.logits(torch.from_numpy(seen)), -1).numpy()
    assert np.array_equal(agent.learner.probabilities(seen), expected)


def test_the_values_of_an_untrained_policy_are_not_fitted_and_play_before_the_schedule_counts() -> None:
    for mu, fitted in (([0.33, 0.33, 0.34], []), ([0.6, 0.2, 0.2], [0.5])):
        agent, learner = make_agent(loop=LOOP.with_(value_decisions=40))
        discounts: list[float] = []
        learner.fit_values = lambda played, gamma, heard=discounts: heard.append(gamma)  # type: ignore[method-assign]
        played = make_sequences(4)
        played.rewards[:], played.terminated[0, 1] = 1.0, True
        played.behaviour_probabilities[:] = mu
        agent.fit_initial_values(lambda played=played: played, NOW._replace(gamma=0.5))
        assert discounts == fitted
        assert len(agent.memory) == 12  # three times what 40 decisions need, rounded up
        agent.learn(make_sequences(4), NOW._replace(gamma=0.5))
        whole = 1 + 0.5 + 0.25 + 0.125  # two steps after the end in a round, two of the next one
        assert learner.bounds == pytest.approx((-MARGIN * whole, (1 + MARGIN) * whole))


# Bounds of values from the returns of episodes.


def test_a_return_is_the_discounted_sum_of_what_follows() -> None:
    np.testing.assert_allclose(discounted_returns(np.array([1.0, 0.0, 2.0]), 0.9), [1 + 0.81 * 2, 1.8, 2.0])


def test_bounds_include_every_return_and_zero_with_a_margin() -> None:
    seen = ReturnRange(1)
    assert seen.bounds is None
    seen.add_episode(np.array([1.0, 0.0, 2.0]), 0.9)
    assert seen.bounds == pytest.approx((-MARGIN * 2.62, (1 + MARGIN) * 2.62))
    seen.add_episode(np.array([-3.0]), 0.9)
    assert seen.bounds == pytest.approx((-3 - MARGIN * 5.62, 2.62 + MARGIN * 5.62))


def paid(*ends: tuple[int, int]) -> Sequences:
    """Four games of four steps with a reward of 1 a step, ended by these steps."""
    one = make_sequences(4)
    one.rewards[:] = 1.0
    for stream, step in ends:
        one.terminated[stream, step] = True
    return one


def test_values_are_bounded_by_the_returns_of_episodes_which_go_on_from_one_sequence_to_the_next() -> None:
    agent, learner = make_agent()
    agent.learn(paid(), NOW)
    assert learner.bounds is None  # no episode has ended
    agent.learn(paid((1, 0), (1, 3), (0, 2)), NOW)
    whole = sum(NOW.gamma**t for t in range(7))  # of game 0: four steps of the sequence before, three of this one
    assert learner.bounds == pytest.approx((-MARGIN * whole, (1 + MARGIN) * whole))
    assert agent.measurements()["learner/value_high"] == pytest.approx((1 + MARGIN) * whole * 0.1)
    agent.change_environment()
    agent.learn(paid(), NOW)
    assert learner.bounds is None


@pytest.mark.parametrize(
    "pause",
    [lambda agent: agent.drop_partial_episodes(), lambda agent: agent.begin_phase(SHOWN)],
    ids=["games", "phase"],
)
def test_the_return_of_a_game_that_was_dropped_does_not_count(pause: Callable[[AcerAgent], None]) -> None:
    agent, learner = make_agent()
    agent.learn(paid(), NOW)
    pause(agent)
    agent.learn(paid((0, 0)), NOW)
    assert learner.bounds == pytest.approx((-MARGIN, 1 + MARGIN))


def test_what_the_player_achieved_bounds_values_wherever_its_rewards_hold() -> None:
    shown = open_dataset(embedded_dataset()).select([0])
    spec = shown.info.environment
    phases = (
        Phase("other rewards", 1.0, environment={"reward": "race", "shaping": 3.5}),
        Phase("mixed", 1.0, demonstrations=FULL, environment=dict(spec.settings)),
        Phase("longer games", 1.0, environment={"time_limit": 123.0}),
        Phase("slower decisions", 1.0, environment={"frames_per_step": 5}),
    )
    policy = Policy(ActorCritic(shown.info.observation, shown.info.actions, (8,)), spec, shown.info.observation)
    agent, bounds = build(make_run(phases, AcerSettings(), LOOP, policy, shown)), {}
    for phase in phases:
        agent.change_environment()
        agent.begin_phase(phase)
        bounds[phase.name] = agent.returns.bounds
    assert bounds["other rewards"] is bounds["slower decisions"] is None
    assert bounds["mixed"] == bounds["longer games"]
    assert bounds["mixed"] is not None
    assert bounds["mixed"][1] > max(discounted_returns(shown[0].rewards, AcerSettings().gamma))
