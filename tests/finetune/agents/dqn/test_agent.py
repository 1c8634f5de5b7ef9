"""Double DQN in the training loop: what enters and leaves the memory, resuming, environments, that it learns."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.dqn.learner import DqnAgent
from qwop.finetune.agents.dqn.settings import DdqnLoopSettings, DdqnSettings
from qwop.finetune.experience.collector import Collector, EpisodeStats
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.log import Progress, RunLog, read_metrics
from qwop.finetune.loop import build
from qwop.finetune.replay.demonstrations import recorded_transitions
from qwop.finetune.schedules.phase import PUBLISHED_RATE, Phase, Ramp
from qwop.policies.policy import Policy
from qwop.policies.q_networks import DuelingQ

from ...replay.contents import check, contents
from ...runs import Observer, make_run

CARTPOLE = EnvironmentSpec("CartPole-v1")
QWOP = EnvironmentSpec("QWOP-v1", {"frames_per_step": 3, "reward": "speed"})
DECISION = 1 / 3600 / PUBLISHED_RATE  # hours


class Run(Observer):
    """A small run, and what can be seen of it."""

    def __init__(
        self,
        folder: Path,
        phases: tuple[Phase, ...],
        dataset: Dataset | None = None,
        spec: EnvironmentSpec = CARTPOLE,
        seed: int = 0,
        algorithm: Any = None,
        **loop: Any,
    ) -> None:
        self.shares: list[tuple[str, float]] = []
        self.phase_ends: list[tuple[str, dict[str, float]]] = []
        self.seen: list[tuple[str, int, float]] = []
        self.log = RunLog(folder)
        self.log.open()
        shape, actions = ((4,), 2) if spec is CARTPOLE else ((71,), 11)
        chosen = DdqnSettings(**{"hidden": (16, 8), "n_steps": 3, "learning_rate": 1e-3, **(algorithm or {})})
        self.network = DuelingQ(shape[0], actions, chosen.hidden, torch.Generator().manual_seed(seed))
        self.phases = phases
        run = make_run(
            phases,
            chosen,
            DdqnLoopSettings(
                **{
                    "num_envs": 4,
                    "steps": 5,
                    "capacity": 600,
                    "start": 50,
                    "batch_size": 16,
                    "target_every": 40,
                    **loop,
                }
            ),
            Policy(self.network, spec, ObservationSpec(shape)),
            dataset,
            self.log,
            folder,
            self,
            seed=seed,
        )
        self.loop = build(run)
        agent = self.loop.agent
        assert isinstance(agent, DqnAgent)
        self.memory, self.learner = agent.memory, agent.learner

    def add(self, index: int, phase: Phase, *_: object, within: bool) -> None:
        self.phase_ends.append((phase.name, self.memory.shares()))

    def progress(self, now: Progress) -> None:
        self.shares.append((now.phase, self.memory.shares()["demonstrations"]))
        stored = contents(self.memory)
        # The discount of a whole transition: γ to the power of its steps.
        self.seen.append((now.phase, len(stored), float(stored.discounts.max(initial=0.0))))


def write(folder: Path, episodes: list[Episode], info: DatasetInfo) -> Dataset:
    writer = DatasetWriter(folder, info)
    for episode in episodes:
        writer.write(episode)
    return open_dataset(folder)


@pytest.fixture
def dataset(tmp_path: Path, make_episode: Callable[..., Episode]) -> Dataset:
    task = {"actions": 2, "shape": (4,)}
    cut = make_episode(7, first=100, terminated=False, truncated=True, **task)
    episodes = [make_episode(30, **task), cut]
    return write(tmp_path / "demos", episodes, DatasetInfo(CARTPOLE, ObservationSpec((4,)), 2))


MIXED = Phase("mixed", 600 * DECISION, demonstrations=Ramp(0.5, 0.5), imitation=Ramp(1.0, 0.0))
PHASES = (Phase("alone", 200 * DECISION), MIXED, Phase("alone again", 200 * DECISION))


def test_a_third_of_the_memory_is_demonstrations_while_they_are_on_and_nothing_after(
    tmp_path: Path, dataset: Dataset
) -> None:
    run = Run(tmp_path, PHASES, dataset, capacity=2000)
    run.loop.run()
    assert [name for name, _ in run.phase_ends] == ["alone", "mixed", "alone again"]
    mixed = [share for name, share in run.shares if name == "mixed"]
    assert mixed[-2] == pytest.approx(290 / (290 + 200 + 580), abs=0.01)
    assert {share for name, share in run.shares if name != "mixed"} == {0.0}
    assert run.phase_ends[1][1]["demonstrations"] == 0.0  # at once
    assert len(run.memory) > 900
    check(run.memory)


def test_all_decisions_of_the_demonstrations_are_transitions_that_respect_their_ends(dataset: Dataset) -> None:
    made = recorded_transitions(list(dataset), DdqnSettings(n_steps=3), 0.9)
    assert len(made) == 37
    assert np.flatnonzero(made.discounts == 0).tolist() == [27, 28, 29]  # the second episode was cut off, not over
    assert made.discounts[-3:] == pytest.approx([0.729, 0.81, 0.9])
    assert made.rewards[0] == pytest.approx(0 + 0.9 * 1 + 0.81 * 2)
    assert made.next_observations[-1, 0] == 107
    assert set(made.source) == {1}


def test_without_live_play_only_demonstrations_are_learned_from(tmp_path: Path, dataset: Dataset) -> None:
    phases = (Phase("shown", 200 * DECISION, Ramp(1.0, 1.0), imitation=Ramp(1.0, 1.0), live=False), MIXED)
    run = Run(tmp_path, phases, dataset, start=20)
    before = run.network.advantage[0].weight.detach().clone()
    run.loop.run()
    assert {share for name, share in run.shares[:-1] if name == "shown"} == {1.0}
    assert not torch.equal(run.network.advantage[0].weight, before)


def test_epsilon_follows_the_decisions_and_play_is_exactly_epsilon_greedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = []
    collect = Collector.collect

    def collected(self: Collector, *arguments: Any) -> tuple[Sequences, list[EpisodeStats]]:
        sequences, ends = collect(self, *arguments)
        played.append(sequences)
        return sequences, ends

    monkeypatch.setattr(Collector, "collect", collected)
    algorithm = {"epsilon_start": 0.8, "epsilon_end": 0.2, "epsilon_share": 0.5}
    run = Run(tmp_path, (Phase("alone", 400 * DECISION),), algorithm=algorithm, overlap=False)
    run.loop.run()
    assert len(played) == 20
    for number, sequences in enumerate(played):
        epsilon = max(0.8 - 0.6 * number * 20 / 200, 0.2)
        largest = sequences.behaviour_probabilities.max(-1)
        assert largest == pytest.approx(np.full((4, 5), 1 - epsilon + epsilon / 2), abs=1e-6)


def test_a_phase_in_another_environment_begins_with_an_empty_memory_and_its_own_discount(tmp_path: Path) -> None:
    phases = (
        Phase("slow", 160 * DECISION),
        Phase("fast", 160 * DECISION, environment={"frames_per_step": 1}),
    )
    run = Run(tmp_path, phases, spec=QWOP, checkpoint_every=400)
    run.loop.run()
    # 10 decisions a second in 9 of the schedule's, then 30: an hour is an hour of the game.
    slow = [gamma for phase, _, gamma in run.seen if phase == "slow"]
    fast = [(size, gamma) for phase, size, gamma in run.seen if phase == "fast"]
    assert slow[0] == pytest.approx(0.99 ** (0.9 * 3), abs=1e-6)
    assert run.seen[len(slow) - 2][1] > 100
    assert fast[0][0] < 30
    assert fast[0][1] == fast[-1][1] == pytest.approx(0.99 ** (0.3 * 3), abs=1e-6)


@pytest.mark.slow
def test_it_learns_to_balance(tmp_path: Path) -> None:
    algorithm = {"epsilon_start": 1.0, "epsilon_end": 0.02, "epsilon_share": 0.4, "hidden": (32, 32)}
    run = Run(
        tmp_path,
        (Phase("alone", 5000 * DECISION),),
        algorithm=algorithm,
        steps=4,
        capacity=6000,
        start=200,
        batch_size=32,
        target_every=200,
        log_every=1000,
    )
    run.loop.run()
    returns = [row["live/return"] for row in read_metrics(tmp_path) if "live/return" in row]
    assert returns[0] < 40
    assert max(returns[-2:]) > 100
