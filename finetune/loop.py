"""The training loop: live play along a schedule, an agent that learns, a log, checkpoints."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .agents.base import Agent
from .checkpoint import save_checkpoint
from .experience.collector import EpisodeEnd
from .experience.sequences import Sequences
from .experience.snapshot import PolicySnapshot
from .reports.run_log import RunLog
from .schedules.phase import Phase
from .schedules.schedule import Schedule
from .settings import LiveSettings
from .weight_average import WeightAverage


@dataclass(frozen=True)
class Progress:
    """Decisions made and left (as planned), the name of the current phase, and the newest row of the log."""

    decisions: int
    remaining: int
    phase: str
    row: dict[str, Any]


class LivePlay(Protocol):
    """Source of live play: a `Collector` here, or actors elsewhere (`distributed.collector.ActorsCollector`)."""

    def collect(self, policy: PolicySnapshot, progress: float = 0.0) -> tuple[Sequences, list[EpisodeEnd]]: ...

    def enter(self, env: Any) -> None:
        """Start new games in an environment from `Environments.make`."""
        ...

    @property
    def saves_games(self) -> bool: ...

    def restart(self) -> None: ...

    def get_state(self) -> dict[str, Any]: ...

    def set_state(self, state: dict[str, Any]) -> None: ...


class Environments(Protocol):
    """The environments of the schedule's phases."""

    @property
    def rates(self) -> tuple[float | None, ...]:
        """Decisions a second of each phase."""
        ...

    def make(self, phase: int) -> Any:
        """Make the environment of a phase, for live play to enter."""
        ...

    def same(self, one: int, other: int) -> bool:
        """True if both phases are played in the same environment."""
        ...


class Loop:
    """Runs a schedule.

    One iteration is `num_envs` sequences of `steps` decisions, from which the agent learns. A checkpoint is a barrier:
    nothing is being collected while it is taken, so its state is complete, and a resumed run equals an uninterrupted
    one to the bit. A phase with its own environment starts new games there; live play in progress is dropped. A phase
    with a `weight_average` leaves the mean of its last weights, from which the next one continues. The last checkpoint
    is taken when the schedule is over, and a longer schedule can continue from it.
    """

    def __init__(
        self,
        agent: Agent,
        collector: LivePlay,
        schedule: Schedule,
        environments: Environments,
        settings: LiveSettings,
        log: RunLog,
        folder: Path,
        *,
        on_evaluation: Callable[[int, Phase], None] = lambda index, phase: None,
        on_phase_end: Callable[[int, Phase], None] = lambda index, phase: None,
        on_checkpoint: Callable[[], None] = lambda: None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.agent = agent
        self.decisions = 0
        """Decisions learned from so far: of live play, or of demonstrations in phases without any."""
        self._collector = collector
        self._schedule = schedule
        self._environments = environments
        self._settings = settings
        self._log = log
        self._folder = folder
        self._on_evaluation = on_evaluation
        self._on_phase_end = on_phase_end
        self._on_checkpoint = on_checkpoint
        self._on_progress = on_progress
        self._actor = PolicySnapshot(agent.network)
        self._average = WeightAverage(agent.network)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live play")
        self._pending: Future[tuple[Sequences, list[EpisodeEnd]]] | None = None
        self._place = schedule.place
        self._logged = 0
        self._row: dict[str, Any] = {}
        agent.advance(0, schedule.planned)

    def run(self, until: int | None = None) -> None:
        """Continue to the end of the schedule, or to the first checkpoint at or after `until` decisions."""
        try:
            if not self.decisions:
                self.agent.warm_up(self._play_aside)
                if not self._schedule.finished:
                    self.agent.begin_phase(self._schedule.phase)
            if self._place != self._schedule.place:  # resumed with a longer schedule than the one that was over
                self._begin_phase()
            while not self._schedule.finished:
                self._iterate()
                if self._at_barrier(0) or self._schedule.finished:
                    self._checkpoint()
                    if until is not None and self.decisions >= until:
                        return
        finally:
            self._pool.shutdown(wait=True)

    @property
    def phase_index(self) -> int:
        """The number of the current phase; of the last one that was played, once all are over."""
        return self._schedule.place

    @property
    def finished(self) -> bool:
        """True once the schedule is over."""
        return self._schedule.finished

    def get_state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on; call it at a barrier."""
        assert self._pending is None
        return {
            "decisions": self.decisions,
            "schedule": self._schedule.get_state(),
            "phase": self._place,
            "collector": self._collector.get_state(),
            "agent": self.agent.get_state(),
            "average": self._average.get_state(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue where `get_state` was called, in a loop whose schedule is the same up to there."""
        self.decisions = self._logged = int(state["decisions"])
        self._schedule.set_state(state["schedule"])
        self._go_to_environment(int(state["phase"]))
        self._collector.set_state(state["collector"])
        self.agent.set_state(state["agent"])
        self._average.set_state(state["average"])
        self.agent.advance(self.decisions, self._schedule.planned)

    def _iterate(self) -> None:
        phase, now = self._schedule.phase, self._schedule.values
        live, returns = self._live() if phase.live else (None, [])
        self.agent.learn(live, now)
        if phase.averages(self._schedule.progress):
            self._average.add()
        self._count(phase, returns)
        self.agent.advance(self.decisions, self._schedule.planned)

    def _count(self, phase: Phase, returns: list[float]) -> None:
        """Advance the schedule; write a row of the log, evaluate and change phases where that is due."""
        index, before = self._schedule.index, self._schedule.progress
        self.decisions += self._per_iteration
        over = self._schedule.advance(self._per_iteration, returns)
        if over or self._at_barrier(0) or self.decisions - self._logged >= self._settings.log_every:
            self._write_row(phase.name)
        if over:
            with self._log.metrics.stopwatch.on("end of phase"):
                self._end_phase(index, phase)
        elif phase.evaluation_due(before, self._schedule.progress):
            with self._log.metrics.stopwatch.on("evaluation within the phase"):
                self._on_evaluation(index, phase)
        left = 0 if self._schedule.finished else self._schedule.remaining
        self._on_progress(Progress(self.decisions, left, phase.name, self._row))

    def _end_phase(self, index: int, phase: Phase) -> None:
        if self._pending is not None and (self._schedule.finished or not self._schedule.phase.live):
            self._drop_pending()
        self._average.settle()
        if not self._schedule.finished:
            self._begin_phase()
        self._on_phase_end(index, phase)

    def _begin_phase(self) -> None:
        self._go_to_environment(self._schedule.place)
        self.agent.begin_phase(self._schedule.phase)

    def _go_to_environment(self, place: int) -> None:
        before, self._place = self._place, place
        if self._environments.same(before, self._place):
            return
        self._drop_pending()
        self._collector.enter(self._environments.make(self._place))
        self.agent.enter(self._environments.rates[self._place])

    def _drop_pending(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def _play_aside(self) -> Sequences:
        """Play an iteration that does not count."""
        self._actor.take(self.agent.network)
        return self._collector.collect(self._actor)[0]

    def _live(self) -> tuple[Sequences, list[float]]:
        """The next live play and the returns of the episodes that ended in it.

        Where play and learning overlap, collecting the live play after that begins.
        """
        with self._log.metrics.stopwatch.on("waiting for live play"):
            if self._pending is None:
                self._actor.take(self.agent.network)
                played, ends = self._collector.collect(self._actor, self._schedule.progress)
            else:
                pending, self._pending = self._pending, None
                played, ends = pending.result()
        if self._settings.overlap and not self._at_barrier(self._per_iteration):
            self._actor.take(self.agent.network)
            self._pending = self._pool.submit(self._collector.collect, self._actor, self._schedule.progress)
        self._log.metrics.episodes(ends)
        return played, [end.total_reward for end in ends]

    @property
    def _per_iteration(self) -> int:
        return self._settings.num_envs * self._settings.steps

    def _at_barrier(self, ahead: int) -> bool:
        """True if a checkpoint is due after the iteration that ends `ahead` decisions from now."""
        now, every = self.decisions + ahead, self._settings.checkpoint_every
        return now // every > (now - self._per_iteration) // every

    def _checkpoint(self) -> None:
        with self._log.metrics.stopwatch.on("checkpoint"):
            if not self._collector.saves_games:
                # A resumed run must start new games, so the uninterrupted one does, too.
                self._collector.restart()
                self.agent.interrupt()
            save_checkpoint(self._folder, self.decisions, self.get_state())
            self._on_checkpoint()

    def _write_row(self, phase: str) -> None:
        played, self._logged = self.decisions - self._logged, self.decisions
        if played:
            self._row = self._log.write(self.decisions, played, phase, self.agent.measurements())
