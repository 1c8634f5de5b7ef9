"""The loop's side of its contract with an agent: what it calls, in which order, and when."""

import math
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.ends import ending_signals
from qwop.envs.spec import ObservationSpec
from qwop.finetune.agents.agent import Agent
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.finetune.distributed.actors import PhaseCollector
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.log import Progress, RunLog, read_metrics
from qwop.finetune.loop import Loop
from qwop.finetune.schedules.phase import FULL, Phase, PhaseValues, Ramp
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy

from .fakes import CARTPOLE
from .runs import Observer, assert_same, make_run, run_until

ITERATION = 2 * 5

Event = tuple[Any, ...]


class Counting(Agent):
    """An agent that learns to count: after v updates it takes action 0 with probability 1/(v + 2)."""

    def __init__(self, events: list[Event], warm_ups: int = 0) -> None:
        self.actor = Actor(4, 2, (4,))
        self.version = 0
        self._events = events
        self._warm_ups = warm_ups
        self._show()

    @property
    def network(self) -> Actor:
        return self.actor

    @property
    def values(self) -> None:
        return None

    def fit_initial_values(self, play: Callable[[], Sequences], now: PhaseValues) -> None:
        self._events.append(("warm up", [self._version_of(play()) for _ in range(self._warm_ups)]))

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        self._events.append(("learn", None if live is None else self._version_of(live), now.learning_rate))
        self.version += 1
        self._show()

    def advance(self, decisions: int, planned: int) -> None:
        self._events.append(("advance", decisions, planned))

    def begin_phase(self, phase: Phase) -> None:
        self._events.append(("begin phase", phase.name))

    def change_environment(self) -> None:
        self._events.append(("change environment",))

    def drop_partial_episodes(self) -> None:
        self._events.append(("interrupt",))

    def measurements(self) -> dict[str, float]:
        return {"learner/version": float(self.version)}

    def get_state(self) -> dict[str, Any]:
        return {"version": self.version, "bias": self.actor.policy_head.bias.tolist()}

    def set_state(self, state: dict[str, Any]) -> None:
        self.version = state["version"]
        self._show()
        with torch.no_grad():
            self.actor.policy_head.bias.copy_(torch.tensor(state["bias"]))

    @torch.no_grad()
    def _show(self) -> None:
        self.actor.policy_head.weight.zero_()
        self.actor.policy_head.bias.copy_(torch.tensor([0.0, math.log(self.version + 1)]))

    @staticmethod
    def _version_of(played: Sequences) -> int:
        (probability,) = np.unique(played.behaviour_probabilities[..., 0])
        return round(1 / float(probability)) - 2


class Run(Observer):
    """A loop around that agent in CartPole, and everything that happened in it."""

    def __init__(
        self, folder: Path, phases: tuple[Phase, ...], warm_ups: int = 0, resume: bool = False, **live: Any
    ) -> None:
        live = PpoLoopSettings(
            **{"num_envs": 2, "steps": 5, "overlap": False, "log_every": 20, "checkpoint_every": 10_000, **live}
        )
        self.phases = phases
        self.events: list[Event] = []
        self.agent = Counting(self.events, warm_ups)
        self.log = RunLog(folder)
        self.log.open()
        policy = Policy(self.agent.network, CARTPOLE, ObservationSpec((4,)))
        run = make_run(phases, PpoSettings(), live, policy, None, self.log, folder, self)
        play = PhaseCollector(run.environments, run.schedule.index, 5, np.random.default_rng(0))
        self.loop = Loop(run, self.agent, play)
        self.folder = folder
        self.shown: list[Progress] = []
        self.left: dict[str, float] = {}
        self.moment: tuple[int, signal.Signals, bool] | None = None
        if resume:
            self.loop.set_state(load_checkpoint(checkpoints(folder / "checkpoints")[-1]))

    def interrupt_at(self, decisions: int, number: signal.Signals, *, evaluating: bool) -> None:
        """Send this process a signal after so many decisions: in the evaluation that is due, or in the iteration."""
        self.moment = (decisions, number, evaluating)

    def _interrupt(self, decisions: int, evaluating: bool) -> None:
        if self.moment is not None and (self.moment[0], self.moment[2]) == (decisions, evaluating):
            os.kill(os.getpid(), self.moment[1])

    def add(self, index: int, phase: Phase, policy: Policy, decisions: int, *, within: bool) -> None:
        self._interrupt(decisions, evaluating=True)
        name, network = phase.name, policy.network
        self.events.append(("evaluation", name, decisions) if within else ("phase ended", index, name))
        assert isinstance(network, Actor)
        self.left[f"{name} so far" if within else name] = float(network.policy_head.bias[1].detach().exp()) - 1.0

    def progress(self, now: Progress) -> None:
        self.shown.append(now)
        self._interrupt(now.decisions, evaluating=False)

    def kinds(self, *kinds: str) -> list[Event]:
        return [event for event in self.events if event[0] in kinds]

    def checkpoints(self) -> list[int]:
        """The decisions after which a checkpoint is there."""
        return [int(path.stem.partition("-")[2]) for path in checkpoints(self.folder / "checkpoints")]

    def versions(self) -> list[int | None]:
        """The number of updates behind the live play of each iteration."""
        return [version for _, version, _ in self.kinds("learn")]


def phase(name: str, iterations: float, **more: Any) -> Phase:
    return Phase(name, decisions=round(iterations * ITERATION), **more)


def test_an_iteration_is_learn_then_advance_and_phases_begin_in_between(tmp_path: Path) -> None:
    run = Run(tmp_path, (phase("one", 2), phase("two", 1, learning_rate=Ramp(0.5, 0.5))))
    run.loop.run()
    assert run.events == [
        ("advance", 0, 30),
        ("warm up", []),
        ("begin phase", "one"),
        ("learn", 0, 1.0),
        ("advance", 10, 30),
        ("learn", 1, 1.0),
        ("begin phase", "two"),
        ("advance", 20, 30),
        ("phase ended", 0, "one"),
        ("learn", 2, 0.5),
        ("advance", 30, 30),
        ("phase ended", 1, "two"),
        ("interrupt",),
    ]
    assert run.checkpoints() == [30]
    assert run.loop.finished
    assert [(now.decisions, now.remaining, now.phase) for now in run.shown] == [
        (10, 20, "one"), (20, 10, "one"), (30, 0, "two"),
    ]  # fmt: skip


def test_evaluations_within_a_phase_are_evenly_spaced_and_not_at_its_end(tmp_path: Path) -> None:
    run = Run(tmp_path, (phase("one", 2), phase("two", 8, evaluations=3), phase("three", 5, evaluations=1)))
    run.loop.run()
    within = [("two", 40), ("two", 60), ("two", 80), ("three", 130)]
    assert run.kinds("evaluation") == [("evaluation", *one) for one in within]


def test_a_phase_leaves_the_mean_weights_of_its_last_iterations_and_is_judged_by_those_so_far(tmp_path: Path) -> None:
    shares = {"none": 0.0, "last": 0.25, "late": 1.0}
    run = Run(tmp_path, tuple(phase(name, 4, weight_average=share, evaluations=1) for name, share in shares.items()))
    run.loop.run()
    # A network after v updates has the bias log(v + 1); judging changes nothing.
    assert run.left == pytest.approx(
        {
            "none so far": 2.0,
            "none": 4.0,
            "last so far": 6.0,  # the weights as they are: the mean has not begun
            "last": 8.0,
            "late so far": math.sqrt(10.0 * 11.0) - 1.0,
            "late": (10.0 * 11.0 * 12.0 * 13.0) ** 0.25 - 1.0,
        }
    )


SHOWN = {"live": False, "demonstrations": FULL}


@pytest.mark.parametrize(
    ("phases", "more", "versions", "checkpoints"),
    [
        ([("one", 5, {})], {"overlap": False}, [0, 1, 2, 3, 4], [50]),
        ([("one", 5, {})], {}, [0, 0, 1, 2, 3], [50]),
        # A checkpoint is a barrier: the fourth iteration starts anew from the newest policy, as a resumed run would.
        ([("one", 6, {})], {"checkpoint_every": 30}, [0, 0, 1, 3, 3, 4], [30, 60]),
        ([("one", 2, {}), ("shown", 2, SHOWN), ("two", 2, {})], {}, [0, 0, None, None, 4, 4], [60]),
    ],
    ids=["without overlap", "overlap", "checkpoints", "a phase without live play"],
)
def test_every_decision_is_of_the_newest_policy_or_with_overlap_of_the_one_before(
    phases: list[Any], more: dict[str, Any], versions: list[int | None], checkpoints: list[int], tmp_path: Path
) -> None:
    made = tuple(phase(name, iterations, **change) for name, iterations, change in phases)
    run = Run(tmp_path, made, **{"overlap": True, **more})
    run.loop.run()
    assert run.versions() == versions
    assert run.checkpoints() == checkpoints


def test_a_phase_in_another_environment_starts_new_games_there_before_it_begins(tmp_path: Path) -> None:
    phases = (
        phase("one", 3),
        phase("short", 4, environment={"max_episode_steps": 3}),
        phase("same", 1, environment={"max_episode_steps": 3}),
    )
    run = Run(tmp_path, phases, overlap=True)
    run.loop.run()
    assert run.kinds("change environment", "begin phase", "phase ended") == [
        ("begin phase", "one"),
        ("change environment",),
        ("begin phase", "short"),
        ("phase ended", 0, "one"),
        ("begin phase", "same"),
        ("phase ended", 1, "short"),
        ("phase ended", 2, "same"),
    ]
    # The live play under way was of the old environment.
    assert run.versions() == [0, 0, 1, 3, 3, 4, 5, 6]
    short = [row for row in read_metrics(tmp_path) if row["phase"] == "short"]
    assert {row["live/decisions"] for row in short} == {3.0}


def test_warming_up_plays_and_counts_nothing_and_happens_once(tmp_path: Path) -> None:
    run = Run(tmp_path, (phase("one", 4),), warm_ups=3, checkpoint_every=20)
    run_until(run.loop, 20)
    assert run.kinds("warm up") == [("warm up", [0, 0, 0])]
    assert run.loop.decisions == 20
    resumed = Run(tmp_path, (phase("one", 4),), warm_ups=3, checkpoint_every=20, resume=True)
    resumed.loop.run()
    assert not resumed.kinds("warm up")
    assert resumed.loop.decisions == 40


def test_rows_come_as_often_as_the_log_asks_and_at_checkpoints_and_ends_of_phases(tmp_path: Path) -> None:
    run = Run(tmp_path, (phase("one", 103), phase("two", 53)), log_every=20, checkpoint_every=1050)
    run.loop.run()
    rows = read_metrics(tmp_path)
    decisions = [row["decisions"] for row in rows]
    assert decisions == [*range(20, 1021, 20), 1030, 1050, *range(1070, 1551, 20), 1560]
    assert [row["phase"] for row in rows] == ["one"] * 52 + ["two"] * 27
    assert [row["learner/version"] for row in rows] == [one / 10 for one in decisions]


@pytest.mark.parametrize(("iterations", "rows"), [(7, 7), (50, 50), (99, 99), (100, 50), (130, 65)])
def test_a_short_run_has_fifty_rows_or_one_an_iteration(tmp_path: Path, iterations: int, rows: int) -> None:
    Run(tmp_path, (phase("one", iterations),), log_every=100_000).loop.run()
    assert len(read_metrics(tmp_path)) == rows


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize(
    ("decisions", "number"), [(60, signal.SIGINT), (60, signal.SIGTERM), (40, signal.SIGINT), (80, signal.SIGTERM),
                              (120, signal.SIGINT)],
    ids=["iteration", "iteration ended", "evaluation within", "end of phase", "last evaluation"],
)  # fmt: skip
def test_an_interrupted_run_leaves_a_checkpoint_and_ends_with_the_same_bits(
    tmp_path: Path, overlap: bool, decisions: int, number: signal.Signals
) -> None:
    phases = (
        phase("one", 8, evaluations=1, weight_average=1.0),
        phase("two", 4, environment={"max_episode_steps": 4}, weight_average=1.0),
    )
    whole = Run(tmp_path / "whole", phases, overlap=overlap)
    whole.loop.run()
    half = Run(tmp_path / "half", phases, overlap=overlap)
    half.interrupt_at(decisions, number, evaluating=decisions != 60)
    with ending_signals(), pytest.raises(KeyboardInterrupt):
        half.loop.run()
    assert half.checkpoints() == [decisions]
    resumed = Run(tmp_path / "half", phases, resume=True, overlap=overlap)
    assert not resumed.loop.finished
    before, changed = [("advance", 0, 120)], [("change environment",)] if decisions >= 80 else []
    assert resumed.events == [*before, *changed, ("advance", decisions, 120)]  # ε and the like, before an iteration
    resumed.loop.run()
    assert half.versions() + resumed.versions() == whole.versions()
    ended = ("phase ended", "evaluation")
    assert half.kinds(*ended) + resumed.kinds(*ended) == whole.kinds(*ended)
    assert_same(resumed.loop.get_state(), whole.loop.get_state())
    heads = (one.agent.network.policy_head.state_dict() for one in (resumed, whole))
    torch.testing.assert_close(*heads, rtol=0, atol=0)
    rows = [read_metrics(tmp_path / name)[-1]["decisions"] for name in ("whole", "half")]
    assert rows == [120, 120]
