"""The training loop: live play along a schedule, updates of an agent, a log, checkpoints."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ..common.ends import Deferred
from ..policies.devices import undisturbed
from ..policies.files import save_policy
from ..policies.policy import Policy
from .agents.agent import Agent
from .agents.settings import Discounted, LiveSettings
from .checkpoint import save_checkpoint
from .distributed.actors import PhaseCollector
from .experience.collector import CPU, EpisodeStats, PolicySnapshot, place_to_act
from .experience.sequences import Sequences, TruncatedObservations
from .log import Progress
from .run import POLICY, LivePlay, Run
from .schedules.phase import Phase
from .weight_average import WeightAverage

ROWS = 50
"""Rows of the log that a run has at least, if it has as many iterations."""

Played = tuple[Sequences, list[EpisodeStats]]
"""Rollouts, and the episodes that ended in them."""


class Stopped(KeyboardInterrupt):
    """The watch of a run ended it. The run can be resumed, as after Ctrl-C."""


@undisturbed
def build(run: Run[Discounted, LiveSettings]) -> "Loop":
    """The loop of a run's stage; BadInput if the run's parts do not fit together."""
    return Loop(run, run.new_agent(), run.new_play())


class Loop:
    """Runs a stage of a schedule.

    One iteration collects `num_envs` sequences of `steps` decisions, and the agent learns from them. A checkpoint is a
    barrier: no play is being collected while it is taken, so its state is complete, and a resumed run is bit-identical
    to an uninterrupted one. A phase with its own environment starts new games there and drops live play in progress. A
    phase with a `weight_average` ends with the mean of its last weights, from which the next phase continues. The last
    checkpoint is taken at the end of the schedule.

    A signal that ends the program waits for the end of the iteration, then leaves a checkpoint there. Since that one
    is no barrier, its state includes the play that was collected ahead, and the evaluation that was interrupted. A
    watch that ends the run does the same as a signal, and raises `Stopped`.
    """

    def __init__(self, run: Run[Discounted, LiveSettings], agent: Agent, play: LivePlay) -> None:
        self.agent = agent
        self.decisions = self._row_at = run.begun_at
        """Decisions learned from so far: of live play, or of demonstrations in phases without any."""
        self._run, self._play, self._settings = run, play, run.loop
        self._iteration = run.loop.decisions
        self._schedule = run.schedule
        here = isinstance(play, PhaseCollector)
        self._actor = PolicySnapshot(
            agent.network,
            live=here and not run.loop.overlap,
            device=place_to_act(agent.network, run.device) if here else CPU,
            decisions=run.loop.steps,
        )
        self._average = WeightAverage(agent.network)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live play")
        self._pending: Future[Played] | None = None
        self._evaluation_due: tuple[int, bool] | None = None
        """Phase to evaluate before the next iteration, and True for an evaluation within the phase."""
        self._stop = False
        iterations = self._schedule.planned // self._iteration
        self._log_every = min(run.loop.log_every, max(iterations // ROWS, 1) * self._iteration)
        self._row: dict[str, Any] = {}
        self._advance()

    def run(self) -> None:
        """Continue to the end of the stage."""
        try:
            if self.decisions == self._run.begun_at:
                self.agent.fit_initial_values(self._play_aside, self._schedule.values)
                self.agent.begin_phase(self._schedule.phase)
            with Deferred() as signals:
                while not self.finished:
                    if self._evaluation_due is None:  # else the run was interrupted in it
                        self._iterate()
                    self._evaluate(signals)
                    if self._at_barrier(0) or self._schedule.finished:
                        self._checkpoint()
                    elif signals.pending or self._stop:
                        self._interrupted()
                    signals.deliver()
                    if self._stop and not self._schedule.finished:
                        raise Stopped
        finally:
            self._pool.shutdown(wait=True)

    @property
    def finished(self) -> bool:
        """True once the schedule is over."""
        return self._schedule.finished and self._evaluation_due is None

    def policy_in(self, phase: int | None = None) -> Policy:
        """Current policy, with the mean of its weights where the phase averages them, labelled with the environment of
        this phase, by default the current one or, once all are over, the last one played."""
        spec = self._run.environments.specs[self._schedule.place if phase is None else phase]
        return replace(self._run.policy, environment=spec, network=self._average.network, values=self.agent.values)

    def save_policy(self) -> None:
        """Write the policy as it is."""
        save_policy(self._run.out / POLICY, self.policy_in())

    def get_state(self) -> dict[str, object]:
        """State that the rest of the run depends on."""
        pending: dict[str, Any] | None = None
        if self._pending is not None:
            sequences, ends = self._pending.result()
            pending = {"sequences": dict(vars(sequences)), "ends": [dict(vars(end)) for end in ends]}
        games = self._run.demonstrations
        return {
            "decisions": self.decisions,
            "stage": self._run.stage,
            "begun_at": self._run.begun_at,
            "schedule": self._schedule.get_state(),
            "collector": self._play.get_state(),
            "agent": self.agent.get_state(),
            "average": self._average.get_state(),
            "pending": pending,
            "evaluation_due": self._evaluation_due,
            "demonstrations": None if games is None else {"games": len(games), "sha256": games.digest()},
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state from `get_state`."""
        self.decisions = self._row_at = int(state["decisions"])
        first = self._schedule.place
        self._schedule.set_state(state["schedule"])
        self._leave_environment_of(first)
        self._play.set_state(state["collector"])
        self.agent.set_state(state["agent"])
        self._average.set_state(state["average"])
        if state["pending"] is not None:
            self._pending = Future()
            self._pending.set_result(_from_plain(state["pending"]))
        self._evaluation_due = state["evaluation_due"]
        self._advance()

    def _advance(self) -> None:
        self.agent.advance(self.decisions - self._run.begun_at, self._schedule.planned)

    def _iterate(self) -> None:
        phase, now = self._schedule.phase, self._schedule.values
        undisturbed(self.agent.learn)(self._live() if phase.live else None, now)
        if phase.averages(self._schedule.progress):
            self._average.add()
        self._count(phase)
        self._advance()

    def _count(self, phase: Phase) -> None:
        """Advance the schedule; log, evaluate and change phases when due."""
        index, before = self._schedule.index, self._schedule.progress
        self.decisions += self._iteration
        over = self._schedule.advance(self._iteration)
        if over or self._at_barrier(0) or self.decisions - self._row_at >= self._log_every:
            self._write_row(phase.name)
        if over:
            self._end_phase(index)
        elif phase.evaluation_due(before, self._schedule.progress):
            self._evaluation_due = (index, True)
        remaining = self._schedule.remaining + self._run.planned_later
        now = Progress(self.decisions, remaining, phase.name, self._row)
        self._stop = self._run.watch is not None and self._run.watch(now) is False

    def _end_phase(self, index: int) -> None:
        if self._schedule.finished or not self._schedule.phase.live:
            self._drop_pending()
        self._average.settle()
        if not self._schedule.finished:
            self._leave_environment_of(index)
            self.agent.begin_phase(self._schedule.phase)
        self._evaluation_due = (index, False)

    def _evaluate(self, signals: Deferred) -> None:
        """Run the evaluation that is due. A signal that interrupts it leaves a checkpoint from before it."""
        if self._evaluation_due is None:
            return
        index, within = self._evaluation_due
        try:
            with signals.at_once():
                phase, policy = self._run.whole.phases[index], self.policy_in(index)
                self._run.evaluations.add(index, phase, policy, self.decisions, within=within)
        except BaseException:
            if signals.pending:
                self._interrupted()
            raise
        self._evaluation_due = None

    def _leave_environment_of(self, before: int) -> None:
        """Go to the environment of the current phase, if it differs from that of the phase before."""
        place = self._schedule.place
        if not self._run.environments.share_environment(before, place):
            self._drop_pending()
            self._play.enter_phase(place)
            self.agent.change_environment()

    def _drop_pending(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def _play_aside(self) -> Sequences:
        """Play an iteration that the schedule does not count."""
        self._actor.take(self.agent.network)
        return self._play.collect(self._actor)[0]

    def _live(self) -> Sequences:
        """Return the next rollouts.

        With `overlap`, also start to collect the rollouts after these.
        """
        if self._pending is None:
            self._actor.take(self.agent.network)
            sequences, ends = self._play.collect(self._actor)
        else:
            pending, self._pending = self._pending, None
            sequences, ends = pending.result()
        if self._settings.overlap and not self._at_barrier(self._iteration):
            self._actor.take(self.agent.network)
            self._pending = self._pool.submit(self._play.collect, self._actor)
        self._run.log.add_episodes(ends)
        return sequences

    def _at_barrier(self, ahead: int) -> bool:
        """True if a checkpoint is due after the iteration that ends `ahead` decisions from now."""
        now, every = self.decisions + ahead, self._settings.checkpoint_every
        return now // every > (now - self._iteration) // every

    def _checkpoint(self) -> None:
        if not self._play.saves_games():  # a resumed run must start new ones here
            self._play.restart()
            self.agent.drop_partial_episodes()
        self._save()

    def _interrupted(self) -> None:
        """Leave a checkpoint where the run was interrupted."""
        if self.decisions > self._row_at:
            self._write_row(self._schedule.phase.name)
        self._save()

    def _save(self) -> None:
        save_checkpoint(self._run.checkpoints, self.decisions, self.get_state())
        self.save_policy()

    def _write_row(self, phase: str) -> None:
        decisions, self._row_at = self.decisions - self._row_at, self.decisions
        if decisions:
            self._row = self._run.log.write(self.decisions, decisions, phase, self.agent.measurements())


def _from_plain(plain: dict[str, Any]) -> Played:
    arrays = plain["sequences"]
    parts = {"finals": TruncatedObservations(*arrays["finals"]), "state": tuple(arrays["state"])}
    return Sequences(**{**arrays, **parts}), [EpisodeStats(**end) for end in plain["ends"]]
