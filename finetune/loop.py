"""What every training loop does: live play along a schedule, a log, checkpoints, and going on from one."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import numpy as np

from ..policies.networks import Network
from .checkpoint import save_checkpoint
from .experience.collector import Collector, EpisodeEnd
from .experience.sequences import Sequences
from .experience.snapshot import PolicySnapshot
from .reports.run_log import RunLog
from .schedules.environments import PhaseEnvironments
from .schedules.schedule import Phase, Schedule


@dataclass(frozen=True)
class LiveSettings:
    """num_envs: games played at once. steps: k, decisions of a sequence. log_every, checkpoint_every: decisions.
    overlap: collect the next sequences while learning from these ones (one iteration behind; μ is recorded, so nothing
    is biased by it)."""

    num_envs: int = 32
    steps: int = 20
    log_every: int = 20_000
    checkpoint_every: int = 200_000
    overlap: bool = True


@dataclass(frozen=True)
class Progress:
    """Where a run is: decisions made and left (as planned), the phase, and the newest row of the log."""

    decisions: int
    remaining: int
    phase: str
    row: dict[str, Any]


class LoopArguments(TypedDict):
    """What a loop is made of, whatever the algorithm. environments: of the phases, where they have some of their own;
    folder: of the checkpoints."""

    schedule: Schedule
    collector: Collector
    generator: np.random.Generator
    log: RunLog
    folder: Path
    environments: NotRequired[PhaseEnvironments]
    phase_over: NotRequired[Callable[[int, Phase], None]]
    checkpoint_taken: NotRequired[Callable[[], None]]
    progress: NotRequired[Callable[[Progress], None]]


class Loop:
    """Runs a schedule; an algorithm says what an iteration is (`_iterate`), which ends with `_count`.

    One iteration is `num_envs` sequences of `steps` decisions. A checkpoint is a barrier: nothing is being collected
    while it is taken. So its state is complete, and a run that goes on and one that is resumed do the same, to the bit.
    A phase in an environment of its own begins with new games there; what was being collected is dropped. The last
    checkpoint is taken when the schedule is over; a longer schedule goes on from it.
    """

    def __init__(
        self,
        network: Network,
        settings: LiveSettings,
        *,
        schedule: Schedule,
        collector: Collector,
        generator: np.random.Generator,
        log: RunLog,
        folder: Path,
        environments: PhaseEnvironments | None = None,
        phase_over: Callable[[int, Phase], None] = lambda index, phase: None,
        checkpoint_taken: Callable[[], None] = lambda: None,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self._network = network
        self._live_settings = settings
        self._schedule = schedule
        self._collector = collector
        self._generator = generator
        self._log = log
        self._folder = folder
        self._environments = environments
        self._phase_over = phase_over
        self._checkpoint_taken = checkpoint_taken
        self._progress = progress
        self._actor = PolicySnapshot(network)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live play")
        self._pending: Future[tuple[Sequences, list[EpisodeEnd]]] | None = None
        self._place = schedule.place
        self._logged = 0
        self._row: dict[str, Any] = {}
        self.decisions = 0
        """Decisions learned from so far, of live play (of demonstrations, in phases without live play)."""

    def run(self, until: int | None = None) -> None:
        """Go on to the end of the schedule, or to the first checkpoint at or after `until` decisions."""
        try:
            if not self.decisions:
                self._prepare()
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
        """The number of the phase under way; of the last one that was played, once all are over."""
        return self._schedule.place

    @property
    def finished(self) -> bool:
        """Whether the schedule is over."""
        return self._schedule.finished

    def get_state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on."""
        assert self._pending is None
        return {
            "decisions": self.decisions,
            "schedule": self._schedule.get_state(),
            "phase": self._place,
            "collector": self._collector.get_state(),
            "generator": self._generator.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on where `get_state` was called, in a loop made in the same way up to there."""
        self.decisions = self._logged = int(state["decisions"])
        self._schedule.set_state(state["schedule"])
        self._go_to_environment(int(state["phase"]))
        self._collector.set_state(state["collector"])
        self._generator.bit_generator.state = state["generator"]

    def _prepare(self) -> None:
        """Before the schedule begins."""

    def _iterate(self) -> None:
        raise NotImplementedError

    def _enter(self, decisions_per_second: float | None) -> None:
        """The games have another environment from now on."""

    def _phase_begins(self) -> None:
        """The phase under way has just begun."""

    def _measured(self) -> dict[str, float]:
        """What else is in a row of the log."""
        return {}

    def _count(self, phase: Phase, returns: list[float]) -> None:
        """Tell the schedule; do what the end of a phase and the time for a row in the log ask for."""
        index = self._schedule.index
        self.decisions += self._per_iteration
        over = self._schedule.advance(self._per_iteration, returns)
        if over or self._at_barrier(0) or self.decisions - self._logged >= self._live_settings.log_every:
            self._write_row(phase.name)
        if over:
            with self._log.stopwatch.on("end of phase"):
                self._end_phase(index, phase)
        left = 0 if self._schedule.finished else self._schedule.remaining
        self._progress(Progress(self.decisions, left, phase.name, self._row))

    def _end_phase(self, index: int, phase: Phase) -> None:
        if self._pending is not None and (self._schedule.finished or not self._schedule.phase.live):
            self._drop_pending()
        if not self._schedule.finished:
            self._begin_phase()
        self._phase_over(index, phase)

    def _begin_phase(self) -> None:
        self._go_to_environment(self._schedule.place)
        self._phase_begins()

    def _go_to_environment(self, place: int) -> None:
        before, self._place = self._place, place
        if self._environments is None or self._environments.same(before, self._place):
            return
        self._drop_pending()
        self._collector.enter(self._environments.make(self._place))
        self._enter(self._environments.rates[self._place])

    def _drop_pending(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def _live(self) -> tuple[Sequences, list[float]]:
        """The next live play and the returns of the episodes that ended in it; where play and learning overlap, what
        comes after is begun."""
        with self._log.stopwatch.on("waiting for live play"):
            if self._pending is None:
                self._actor.take(self._network)
                played, ends = self._collector.collect(self._actor)
            else:
                pending, self._pending = self._pending, None
                played, ends = pending.result()
        if self._live_settings.overlap and not self._at_barrier(self._per_iteration):
            self._actor.take(self._network)
            self._pending = self._pool.submit(self._collector.collect, self._actor)
        self._log.episodes(ends)
        return played, [end.total_reward for end in ends]

    @property
    def _per_iteration(self) -> int:
        return self._live_settings.num_envs * self._live_settings.steps

    def _at_barrier(self, ahead: int) -> bool:
        """Whether a checkpoint is due after the iteration that ends `ahead` decisions from now."""
        now, every = self.decisions + ahead, self._live_settings.checkpoint_every
        return now // every > (now - self._per_iteration) // every

    def _checkpoint(self) -> None:
        with self._log.stopwatch.on("checkpoint"):
            save_checkpoint(self._folder, self.decisions, self.get_state())
            self._checkpoint_taken()

    def _write_row(self, phase: str) -> None:
        played, self._logged = self.decisions - self._logged, self.decisions
        if played:
            self._row = self._log.write(self.decisions, played, phase, self._measured())
