"""Agents with a memory: what reaches the memory and the learner, when, and what a phase removes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from qwop.datasets.embedded import embedded_dataset
from qwop.datasets.reader import open_dataset
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.acer.learner import MARGIN, AcerAgent, build
from qwop.finetune.agents.acer.settings import AcerLoopSettings, AcerSettings
from qwop.finetune.agents.dqn.learner import DqnAgent
from qwop.finetune.agents.dqn.settings import DdqnLoopSettings
from qwop.finetune.agents.rlpd.learner import RlpdAgent
from qwop.finetune.agents.rlpd.settings import RlpdLoopSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, LIVE, Sequences, discounted_returns
from qwop.finetune.log import RunLog
from qwop.finetune.replay.demonstrations import Behaviour, Demonstrations, RecordedSequences, recorded_transitions
from qwop.finetune.replay.memory import SequenceMemory
from qwop.finetune.replay.settings import BehaviourSettings
from qwop.finetune.replay.transition_memory import PrioritisedMemory, TransitionMemory
from qwop.finetune.schedules.phase import FULL, Phase, PhaseValues, Ramp
from qwop.policies.networks import Actor, ActorCritic
from qwop.policies.policy import Policy

from ..fakes import CARTPOLE, make_episode, make_sequences
from ..replay.contents import contents
from ..runs import NOW, make_run
from .learners import acer, dqn, rlpd

SEEN = ObservationSpec((2,))
SMALL: dict[str, Any] = {"num_envs": 4, "steps": 4, "start": 9}
MIXED = NOW._replace(
    demonstrations=1.0, learning_rate=0.5, imitation=0.3, entropy=0.2, critic_only=True, uses_demonstrations=True
)
SHOWN = Phase("shown", 1.0, live=False, demonstrations=FULL)


class Call(NamedTuple):
    """An update of a learner."""

    batch: Any
    now: PhaseValues
    diagnose: bool


def recorded(learner: Any, result: Callable[[Any], Any] = lambda batch: None) -> list[Call]:
    """What the learner's updates are called with, from now on; it learns nothing."""
    calls: list[Call] = []

    def update(batch: Any, now: PhaseValues, *weights: Any, diagnose: bool = False) -> Any:
        calls.append(Call(batch, now, diagnose))
        return result(batch)

    learner.update = update
    return calls


def make_acer(mode: str = "current", **loop: Any) -> tuple[AcerAgent, list[Call]]:
    learner, settings = acer(reward_scale=0.1).learner, AcerLoopSettings(**SMALL, capacity=40, replay_ratio=3.0, **loop)
    shown = Demonstrations(RecordedSequences([make_episode(60, first=1e6)], 4, 0.9), streams=4, stride=4)
    memory, behaviour = SequenceMemory(40, 4, SEEN, 3), Behaviour(BehaviourSettings(mode=mode))
    agent = AcerAgent(learner, memory, shown, settings, RunLog(Path()), np.random.default_rng(0), behaviour)
    return agent, recorded(learner)


def make_dqn() -> tuple[DqnAgent, list[Call]]:
    learner = dqn(n_steps=3, prioritised=True, epsilon_start=0.1, epsilon_end=0.02, epsilon_share=0.5).learner
    loop = DdqnLoopSettings(**SMALL, capacity=400, batch_size=10, train_every=4.0)
    shown = Demonstrations(recorded_transitions([make_episode(30)], learner.settings, 0.9))
    memory = PrioritisedMemory(400, SEEN, alpha=1.0)
    agent = DqnAgent(learner, memory, shown, loop, RunLog(Path()), np.random.default_rng(0))
    return agent, recorded(learner, lambda batch: (torch.ones(len(batch)), None))


def make_rlpd(demonstrations: bool = True) -> tuple[RlpdAgent, list[Call]]:
    learner = rlpd().learner
    loop = RlpdLoopSettings(**SMALL, capacity=400, batch_size=10, updates_per_decision=0.5)
    shown = Demonstrations(recorded_transitions([make_episode(20, first=1e6)], learner.settings, 0.9))
    memory, generator = TransitionMemory(400, SEEN), np.random.default_rng(0)
    agent = RlpdAgent(learner, memory, shown if demonstrations else None, loop, RunLog(Path()), generator)
    return agent, recorded(learner)


MAKE: dict[str, Callable[[], tuple[Any, list[Call]]]] = {"acer": make_acer, "dqn": make_dqn, "rlpd": make_rlpd}


def play(agent: Any, now: PhaseValues, iterations: int) -> None:
    for number in range(iterations):
        agent.learn(make_sequences(4, first=4 * number), now)


def shares(calls: list[Call]) -> list[float]:
    """The share of demonstrations in each batch."""
    return [float((one.batch.source == DEMONSTRATIONS).mean()) for one in calls]


@pytest.mark.parametrize(("name", "rate"), [("acer", 3.0), ("dqn", 4.0), ("rlpd", 8.0)])
def test_memory_is_sampled_once_it_holds_enough_as_often_as_the_settings_say(name: str, rate: float) -> None:
    agent, calls = MAKE[name]()
    replayed, now = [], MIXED._replace(demonstrations=0.0)
    for number in range(200):
        calls.clear()
        live = make_sequences(4, first=4 * number)
        agent.learn(live, now)
        assert {one.now for one in calls} <= {now}
        if name == "acer":  # learns from live play first
            assert calls[0].batch is live
            assert not calls.pop(0).diagnose
        assert len(agent.memory) >= 9 or not calls
        assert [one.diagnose for one in calls] == [True, *[False] * 30][: len(calls)]
        replayed.append(len(calls))
    assert replayed[0] == 0  # four sequences, or eight transitions of three steps
    assert np.mean(replayed[2:]) == pytest.approx(rate, abs=0.4 if name == "acer" else 0)


@pytest.mark.parametrize("name", ["acer", "dqn"])
def test_demonstrations_enter_and_leave_the_memory_as_the_phase_says(name: str) -> None:
    agent, _ = MAKE[name]()
    play(agent, MIXED._replace(demonstrations=0.125), 4)
    shown = round(agent.memory.shares()["demonstrations"] * len(agent.memory))
    assert shown == 4 * (4 if name == "acer" else 16) / 8
    agent.begin_phase(Phase("mixed", 1.0, demonstrations=Ramp(1.0, 0.0)))
    assert agent.memory.shares()["demonstrations"] == pytest.approx(shown / len(agent.memory))
    agent.begin_phase(Phase("alone", 1.0))
    assert agent.memory.shares() == {"live": 1.0, "demonstrations": 0.0}
    agent.change_environment()
    assert len(agent.memory) == 0
    agent.learn(None, MIXED._replace(live=False))
    assert agent.memory.shares() == {"live": 0.0, "demonstrations": 1.0}


def test_live_play_leaves_acers_memory_in_a_phase_without_it() -> None:
    agent, _ = make_acer()
    play(agent, MIXED, 1)
    agent.begin_phase(SHOWN)
    assert agent.memory.shares() == {"live": 0.0, "demonstrations": 1.0}


def test_demonstrations_are_half_of_the_memory_at_first_and_fewer_as_their_rate_falls() -> None:
    agent, _ = make_acer()
    phase, found = Phase("fade", 1.0, demonstrations=Ramp(1.0, 0.0)), []
    for number in range(40):
        agent.learn(make_sequences(4, first=4 * number), phase.at(number / 40, gamma=0.99))
        found.append(agent.memory.shares()["demonstrations"])
    assert max(found) == found[0] == 0.5
    assert found[-1] < 0.15


def test_the_share_of_demonstrations_in_a_batch_of_rlpd_is_the_phases() -> None:
    agent, calls = make_rlpd()
    play(agent, NOW, 9)
    for share, expected in ((1.0, 0.5), (0.25, 0.2), (0.5, 1 / 3), (0.0, 0.0)):
        calls.clear()
        for _ in range(15):
            agent.learn(None, MIXED._replace(demonstrations=share))
        assert np.mean(shares(calls)) == pytest.approx(expected, abs=0.01)
        assert all(len(one.batch) == 10 for one in calls)
    calls.clear()
    agent.learn(None, MIXED._replace(live=False))
    assert shares(calls) == [1.0] * 8
    agent, calls = make_rlpd(demonstrations=False)
    play(agent, MIXED, 9)
    assert set(shares(calls)) == {0.0}


@pytest.mark.parametrize("mode", ["current", "current_at_sampling"])
def test_the_behaviour_of_demonstrations_is_the_policys_at_the_moment_that_the_mode_says(mode: str) -> None:
    agent, calls = make_acer(mode)
    policies = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], dtype=np.float32)
    for pi, rate, iterations in zip(policies, (1.0, 0.0), (1, 20), strict=True):
        agent.learner.probabilities = lambda seen, pi=pi: np.tile(pi, (len(seen), 1))  # type: ignore[method-assign]
        calls.clear()
        play(agent, MIXED._replace(demonstrations=rate), iterations)
    for source, expected in ((DEMONSTRATIONS, policies[int(mode != "current")]), (LIVE, np.float32([1 / 3] * 3))):
        mu = np.concatenate([one.batch.behaviour_probabilities[one.batch.source == source] for one in calls])
        assert len(mu) > 0
        assert (mu == expected).all()


def test_acer_continues_the_policy_of_ppo() -> None:
    actor, loop = Actor(4, 2, (16,), torch.Generator().manual_seed(3)), AcerLoopSettings(**SMALL, capacity=40)
    agent = build(make_run((Phase("x", 1.0),), AcerSettings(), loop, Policy(actor, CARTPOLE, ObservationSpec((4,)))))
    seen = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    with torch.no_grad():
        expected = torch.softmax(actor.logits(torch.from_numpy(seen)), -1).numpy()
    assert np.array_equal(agent.learner.probabilities(seen), expected)


def test_the_values_of_an_untrained_policy_are_not_fitted_and_play_before_the_schedule_counts() -> None:
    for mu, fitted in (([0.33, 0.33, 0.34], []), ([0.6, 0.2, 0.2], [0.5])):
        agent, _ = make_acer(value_decisions=40)
        discounts: list[float] = []
        agent.learner.fit_values = lambda played, gamma, to=discounts: to.append(gamma)  # type: ignore[method-assign]
        played = paid((0, 1))
        played.behaviour_probabilities[:] = mu
        agent.fit_initial_values(lambda played=played: played, NOW._replace(gamma=0.5))
        assert discounts == fitted
        assert len(agent.memory) == 12  # three times what 40 decisions need, rounded up
        whole = 1 + 0.5 + 0.25 + 0.125  # two steps after the end in a round, two of the next one
        assert agent.returns.bounds == pytest.approx((-MARGIN * whole, (1 + MARGIN) * whole))


def paid(*ends: tuple[int, int]) -> Sequences:
    """Four games of four steps with a reward of 1 a step, ended by these steps."""
    one = make_sequences(4)
    one.rewards[:] = 1.0
    for stream, step in ends:
        one.terminated[stream, step] = True
    return one


def test_values_are_bounded_by_the_returns_of_episodes_which_go_on_from_one_sequence_to_the_next() -> None:
    agent, _ = make_acer()
    agent.learn(paid(), MIXED)
    assert agent.learner.bounds is None  # no episode has ended
    agent.learn(paid((1, 0), (1, 3), (0, 2)), MIXED)
    whole = sum(NOW.gamma**t for t in range(7))  # of game 0: four steps of the sequence before, three of this one
    assert agent.learner.bounds == pytest.approx((-MARGIN * whole, (1 + MARGIN) * whole))
    assert agent.measurements()["learner/value_high"] == pytest.approx((1 + MARGIN) * whole * 0.1)
    agent.returns.add_episode(np.array([-3.0]), 0.9)
    assert agent.returns.bounds == pytest.approx((-3 - MARGIN * (whole + 3), whole + MARGIN * (whole + 3)))
    agent.change_environment()
    agent.learn(paid(), MIXED)
    assert agent.learner.bounds is None


@pytest.mark.parametrize("pause", [AcerAgent.drop_partial_episodes, lambda agent: agent.begin_phase(SHOWN)])
def test_the_return_of_a_game_that_was_dropped_does_not_count(pause: Callable[[AcerAgent], None]) -> None:
    agent, _ = make_acer()
    agent.learn(paid(), MIXED)
    pause(agent)
    agent.learn(paid((0, 0)), MIXED)
    assert agent.learner.bounds == pytest.approx((-MARGIN, 1 + MARGIN))


def test_what_the_player_achieved_bounds_values_wherever_its_rewards_hold() -> None:
    shown = open_dataset(embedded_dataset()).select([0])
    spec, loop = shown.info.environment, AcerLoopSettings(**SMALL, capacity=40)
    phases = (
        Phase("other rewards", 1.0, environment={"reward": "race", "shaping": 3.5}),
        Phase("mixed", 1.0, demonstrations=FULL, environment=dict(spec.settings)),
        Phase("longer games", 1.0, environment={"time_limit": 123.0}),
        Phase("slower decisions", 1.0, environment={"frames_per_step": 5}),
    )
    policy = Policy(ActorCritic(shown.info.observation, shown.info.actions, (8,)), spec, shown.info.observation)
    agent, bounds = build(make_run(phases, AcerSettings(), loop, policy, shown)), {}
    for phase in phases:
        agent.change_environment()
        agent.begin_phase(phase)
        bounds[phase.name] = agent.returns.bounds
    assert bounds["other rewards"] is bounds["slower decisions"] is None
    assert bounds["mixed"] == bounds["longer games"]
    assert bounds["mixed"] is not None
    assert bounds["mixed"][1] > max(discounted_returns(shown[0].rewards, AcerSettings().gamma))


def steps_stored(agent: DqnAgent) -> set[int]:
    """The steps of the stored transitions: those that their observations are apart."""
    stored = contents(agent.memory)
    return {round(d) for d in (stored.next_observations[:, 0] - stored.observations[:, 0]).tolist()}


@pytest.mark.parametrize(("pause", "spans"), [("no live play", False), ("new games", False), ("another phase", True)])
def test_steps_that_wait_go_on_unless_their_games_end(pause: str, spans: bool) -> None:
    agent, _ = make_dqn()
    agent.learn(make_sequences(4), NOW)
    if pause == "new games":
        agent.drop_partial_episodes()
    else:
        agent.begin_phase(Phase("next", 1.0, demonstrations=FULL, live=spans))
    agent.learn(make_sequences(4, first=50), NOW)
    assert (max(steps_stored(agent)) > 1000) is spans


def test_another_environment_brings_its_discount() -> None:
    agent, _ = make_dqn()
    agent.learn(make_sequences(4), NOW._replace(gamma=0.8))
    agent.change_environment()
    agent.learn(make_sequences(4, first=50), NOW._replace(gamma=0.9))
    assert contents(agent.memory).discounts == pytest.approx(0.9**3)
    assert steps_stored(agent) == {3}


def test_beta_and_epsilon_follow_the_schedule() -> None:
    agent, _ = make_dqn()
    rows = []
    for decisions in (0, 25, 50, 100, 200):
        agent.advance(decisions, 100)
        rows.append(agent.measurements())
    assert [row["learner/beta"] for row in rows] == pytest.approx([0.4, 0.55, 0.7, 1.0, 1.0])
    assert [row["learner/epsilon"] for row in rows] == pytest.approx([0.1, 0.06, 0.02, 0.02, 0.02])
