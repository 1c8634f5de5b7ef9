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
from qwop.common.errors import EnvironmentFailed
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.agents.agent import Agent
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.checkpoint import checkpoints, load_checkpoint
from qwop.finetune.distributed.collector import PhaseCollector
from qwop.finetune.experience.sequences import Sequences
from qwop.finetune.log import Progress, RunLog, read_metrics
from qwop.finetune.loop import Loop
from qwop.finetune.schedules.phase import PUBLISHED_RATE, Phase, PhaseValues, Ramp
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy

from .runs import Observer, assert_same, make_run, run_until

DECISIONS = 1 / 3600 / PUBLISHED_RATE  # hours, where an environment has no clock
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
        policy = Policy(self.agent.network, EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)))
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
    return Phase(name, hours=iterations * ITERATION * DECISIONS, **more)


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
    within = [
        ("evaluation", "two", 40),
        ("evaluation", "two", 60),
        ("evaluation", "two", 80),
        ("evaluation", "three", 130),
    ]
    assert run.kinds("evaluation") == within


def test_a_phase_leaves_the_mean_weights_of_its_last_iterations(tmp_path: Path) -> None:
    shares = {"none": 0.0, "last": 0.25, "half": 0.5}
    run = Run(tmp_path, tuple(phase(name, 4, weight_average=share) for name, share in shares.items()))
    run.loop.run()
    # A network after v updates has the bias log(v + 1).
    assert run.left == pytest.approx({"none": 4.0, "last": 8.0, "half": math.sqrt(12.0 * 13.0) - 1.0})


def test_an_evaluation_within_a_phase_judges_the_mean_of_its_weights_so_far(tmp_path: Path) -> None:
    phases = (phase("early", 4, weight_average=0.25, evaluations=1), phase("late", 4, weight_average=1, evaluations=1))
    run = Run(tmp_path, phases)
    run.loop.run()
    assert run.left["early so far"] == pytest.approx(2.0)  # the weights as they are: the mean has not begun
    assert run.left["late so far"] == pytest.approx(math.sqrt(6.0 * 7.0) - 1.0)
    assert run.left["late"] == pytest.approx((6.0 * 7.0 * 8.0 * 9.0) ** 0.25 - 1.0)  # judging has changed nothing


def test_without_overlap_every_decision_is_of_the_newest_policy_and_with_it_of_the_one_before(tmp_path: Path) -> None:
    plain = Run(tmp_path / "plain", (phase("one", 5),))
    plain.loop.run()
    assert plain.versions() == [0, 1, 2, 3, 4]
    overlapping = Run(tmp_path / "overlapping", (phase("one", 5),), overlap=True)
    overlapping.loop.run()
    assert overlapping.versions() == [0, 0, 1, 2, 3]


def test_a_checkpoint_is_a_barrier_for_live_play(tmp_path: Path) -> None:
    run = Run(tmp_path, (phase("one", 6),), overlap=True, checkpoint_every=30)
    run.loop.run()
    # The fourth iteration starts anew from the newest policy, as a resumed run would.
    assert run.versions() == [0, 0, 1, 3, 3, 4]
    assert run.checkpoints() == [30, 60]


def test_a_phase_without_live_play_drops_what_was_being_played(tmp_path: Path) -> None:
    shown = phase("shown", 2, live=False, demonstrations=Ramp(1.0, 1.0))
    run = Run(tmp_path, (phase("one", 2), shown, phase("two", 2)), overlap=True)
    run.loop.run()
    assert run.versions() == [0, 0, None, None, 4, 4]


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
    run = Run(tmp_path, (phase("one", iterations),), log_every=100_000)
    run.loop.run()
    assert len(read_metrics(tmp_path)) == rows


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("moment", ["iteration", "evaluation within", "end of phase", "last evaluation"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_a_checkpoint_and_ends_with_the_same_bits(
    tmp_path: Path, overlap: bool, moment: str, number: signal.Signals
) -> None:
    phases = (
        phase("one", 8, evaluations=1, weight_average=1.0),
        phase("two", 4, environment={"max_episode_steps": 4}, weight_average=1.0),
    )
    whole = Run(tmp_path / "whole", phases, overlap=overlap)
    whole.loop.run()
    half = Run(tmp_path / "half", phases, overlap=overlap)
    decisions = {"iteration": 60, "evaluation within": 40, "end of phase": 80, "last evaluation": 120}[moment]
    half.interrupt_at(decisions, number, evaluating=moment != "iteration")
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


@pytest.mark.parametrize("overlap", [True, False])
def test_an_environment_that_fails_leaves_a_checkpoint_from_which_new_games_go_on(
    tmp_path: Path, overlap: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect, calls = PhaseCollector.collect, iter(range(100))

    def fails_once(play: PhaseCollector, *arguments: Any) -> Any:
        played = collect(play, *arguments)
        if next(calls) == 4:
            raise EnvironmentFailed("its step failed")
        return played

    monkeypatch.setattr(PhaseCollector, "collect", fails_once)
    half = Run(tmp_path, (phase("one", 8),), overlap=overlap)
    with pytest.raises(EnvironmentFailed):
        half.loop.run()
    assert half.kinds("interrupt") == [("interrupt",)]
    assert half.checkpoints() == [40]
    state = load_checkpoint(checkpoints(tmp_path / "checkpoints")[-1])
    assert state["pending"] is None
    assert "actions" not in state["collector"]  # of games that were played before
    resumed = Run(tmp_path, (phase("one", 8),), resume=True, overlap=overlap)
    resumed.loop.run()
    assert resumed.loop.decisions == 80
    assert len(half.versions() + resumed.versions()) == 8
    assert [row["decisions"] for row in read_metrics(tmp_path)] == [*range(10, 81, 10)]


@pytest.mark.parametrize("failing", ["learned nothing", "new games"])
def test_an_environment_that_fails_for_good_leaves_no_checkpoint(
    tmp_path: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, (phase("one", 8),))

    def fails(*_: Any) -> Any:
        raise EnvironmentFailed("its step failed")

    if failing == "new games":
        learn = run.agent.learn
        monkeypatch.setattr(
            run.agent, "learn", lambda *told: (learn(*told), monkeypatch.setattr(PhaseCollector, "collect", fails))
        )
        monkeypatch.setattr(PhaseCollector, "restart", fails)
    else:
        monkeypatch.setattr(PhaseCollector, "collect", fails)
    with pytest.raises(EnvironmentFailed, match="its step failed"):
        run.loop.run()
    assert run.checkpoints() == []


def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    run = Run(tmp_path, (phase("one", 5),))

    def learn(live: Any, now: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    run.agent.learn = learn  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run.loop.run()
    assert run.loop.decisions == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_phase_that_is_added_to_a_schedule_that_was_over_begins_in_its_environment(tmp_path: Path) -> None:
    one, short = phase("one", 2), phase("short", 3, environment={"max_episode_steps": 3})
    Run(tmp_path, (one,)).loop.run()
    longer = Run(tmp_path, (one, short), resume=True)
    longer.loop.run()
    assert longer.kinds("change environment", "begin phase") == [("change environment",), ("begin phase", "short")]
    assert {row["live/decisions"] for row in read_metrics(tmp_path) if row["phase"] == "short"} == {3.0}
