"""ACER in the training loop, on CartPole: what enters and leaves the memory, resuming, and that it learns."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.datasets.embedded import embedded_dataset
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.acer.agent import AcerAgent
from qwop.finetune.agents.acer.settings import AcerLoopSettings, AcerSettings
from qwop.finetune.experience.sequences import DEMONSTRATIONS, discounted_returns
from qwop.finetune.log import Progress, RunLog, read_metrics
from qwop.finetune.loop import build
from qwop.finetune.replay.settings import BehaviourSettings
from qwop.finetune.schedules.phase import PUBLISHED_RATE, Phase, Ramp
from qwop.policies.networks import Actor, ActorCritic, LayeredNetwork
from qwop.policies.policy import Policy

from ...replay.contents import contents
from ...runs import Observer, make_run

CARTPOLE = EnvironmentSpec("CartPole-v1")
SEEN = ObservationSpec((4,))
HOUR = 3600 * PUBLISHED_RATE  # decisions, where an environment has no clock


class Run(Observer):
    """A small run, and what can be seen of it."""

    def __init__(
        self,
        folder: Path,
        phases: tuple[Phase, ...],
        dataset: Dataset | None = None,
        seed: int = 0,
        hidden: tuple[int, ...] = (16,),
        mode: str = "current",
        algorithm: AcerSettings | None = None,
        network: LayeredNetwork | None = None,
        **loop: Any,
    ) -> None:
        loop = {"num_envs": 4, "steps": 5, "capacity": 64, "start": 8, "value_decisions": 0, **loop}
        self.network = network or ActorCritic(4, 2, hidden, torch.Generator().manual_seed(seed))
        self.phases = phases
        self.shares: list[tuple[str, float]] = []
        self.phase_ends: list[tuple[int, str, dict[str, float]]] = []
        log = RunLog(folder)
        log.open()
        run = make_run(
            phases,
            algorithm or AcerSettings(),
            AcerLoopSettings(**loop),
            Policy(self.network, CARTPOLE, SEEN),
            dataset,
            log,
            folder,
            self,
            behaviour=BehaviourSettings(mode=mode),
            seed=seed,
        )
        self.loop = build(run)
        agent = self.loop.agent
        assert isinstance(agent, AcerAgent)
        self.memory, self.learner = agent.memory, agent.learner

    def add(self, index: int, phase: Phase, *_: object, within: bool) -> None:
        self.phase_ends.append((index, phase.name, self.memory.shares()))

    def progress(self, now: Progress) -> None:
        self.shares.append((now.phase, self.memory.shares()["demonstrations"]))


@pytest.fixture
def demonstrations(tmp_path: Path, make_episode: Callable[..., Episode]) -> Dataset:
    writer = DatasetWriter(tmp_path / "demonstrations", DatasetInfo(CARTPOLE, SEEN, 2))
    for i, n in enumerate((30, 47, 12)):
        writer.write(make_episode(n, first=i, actions=2, shape=(4,), truncated=False))
    return open_dataset(tmp_path / "demonstrations")


PHASES = (
    Phase("alone", 400 / HOUR),
    Phase("mixed", 600 / HOUR, demonstrations=Ramp(1.0, 1.0)),
    Phase("alone again", 400 / HOUR),
)


def test_demonstrations_are_half_of_the_memory_while_they_are_on_and_none_after(
    tmp_path: Path, demonstrations: Dataset
) -> None:
    run = Run(tmp_path, PHASES, demonstrations)
    run.loop.run()
    assert [name for _, name, _ in run.phase_ends] == ["alone", "mixed", "alone again"]
    mixed = [share for name, share in run.shares if name == "mixed"]
    assert mixed[0] == pytest.approx(4 / 64, abs=0.01)
    assert mixed[-2] == 0.5
    assert [share for name, share in run.shares if name != "mixed"] == [0.0] * 40
    # They are gone the moment the phase is over, not when the ring has overflowed.
    assert run.phase_ends[1][2]["demonstrations"] == 0.0
    assert len(run.memory) > 0
    assert run.loop.decisions == 1400


def test_an_annealed_ratio_brings_in_fewer_and_fewer(tmp_path: Path, demonstrations: Dataset) -> None:
    run = Run(tmp_path, (Phase("anneal", 2000 / HOUR, demonstrations=Ramp(1.0, 0.0)),), demonstrations)
    run.loop.run()
    shares = [share for _, share in run.shares]
    assert max(shares) > 0.4
    assert shares[-1] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_it_learns_to_balance_a_pole(tmp_path: Path, seed: int) -> None:
    run = Run(
        tmp_path,
        (Phase("alone", 50_000 / HOUR),),
        seed=seed,
        hidden=(64, 64),
        algorithm=AcerSettings(reward_scale=0.1, learning_rate=2e-3),
        num_envs=8,
        steps=20,
        capacity=400,
        start=50,
        log_every=5000,
    )
    run.loop.run()
    assert read_metrics(tmp_path)[-1]["live/return"] > 195


def test_it_continues_the_policy_of_ppo(tmp_path: Path, demonstrations: Dataset) -> None:
    actor = Actor(4, 2, (16,), torch.Generator().manual_seed(3))
    run = Run(tmp_path, PHASES[:2], demonstrations, network=actor)
    seen = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    with torch.no_grad():
        before = torch.softmax(actor.logits(torch.from_numpy(seen)), -1).numpy()
    assert np.array_equal(run.learner.probabilities(seen), before)
    run.loop.run()
    assert not np.array_equal(run.learner.probabilities(seen), before)
    assert run.loop.policy_in(1).network is run.learner.network


def test_demonstrations_are_learned_by_the_returns_of_their_phase(tmp_path: Path, demonstrations: Dataset) -> None:
    run = Run(tmp_path, PHASES[:2], demonstrations, algorithm=AcerSettings(achieved_returns=True))
    run.loop.run()
    held = contents(run.memory)
    shown = held.source == DEMONSTRATIONS
    assert held.returns is not None
    assert held.known is not None
    assert held.known[shown].all()
    assert not held.known[~shown].any()
    # make_episode's rewards count up: the last decision of a game has no more than its own.
    last = held.terminated & shown[:, None]
    assert np.array_equal(held.returns[last], held.rewards[last])
    before_last = last[:, 1:] & ~last[:, :-1]
    gamma = AcerSettings().gamma
    expected = held.rewards[:, :-1] + gamma * held.rewards[:, 1:]
    assert np.allclose(held.returns[:, :-1][before_last], expected[before_last], rtol=1e-6)


def test_what_the_player_achieved_bounds_values_wherever_its_rewards_hold(tmp_path: Path) -> None:
    shown = open_dataset(embedded_dataset()).select([0])
    spec = shown.info.environment
    phases = (
        Phase("other rewards", 1.0, environment={"reward": "race", "shaping": 3.5}),
        Phase("mixed", 1.0, demonstrations=Ramp(1.0, 1.0), environment=dict(spec.settings)),
        Phase("longer games", 1.0, environment={"time_limit": 123.0}),
        Phase("slower decisions", 1.0, environment={"frames_per_step": 5}),
    )
    network = ActorCritic(shown.info.observation, shown.info.actions, (8,))
    first = Policy(network, spec, shown.info.observation)
    loop = AcerLoopSettings(num_envs=1, steps=5, capacity=64, value_decisions=0)
    agent = build(make_run(phases, AcerSettings(), loop, first, shown, folder=tmp_path)).agent
    assert isinstance(agent, AcerAgent)
    bounds = {}
    for phase in phases:
        agent.change_environment()
        agent.begin_phase(phase)
        bounds[phase.name] = agent._returns.bounds
    assert bounds["other rewards"] is bounds["slower decisions"] is None
    highest = max(discounted_returns(shown[0].rewards, AcerSettings().gamma))
    assert bounds["mixed"] == bounds["longer games"]
    assert bounds["mixed"] is not None
    assert bounds["mixed"][1] > highest
