"""The training loop: live play, demonstrations, memory and learner, in the order that the schedule says."""

import math
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .behaviour import Behaviour
from .checkpoint import save_checkpoint
from .collector import Collector, EpisodeEnd
from .demonstrations import Demonstrations
from .learner import AcerLearner
from .replay import SequenceMemory
from .runlog import RunLog
from .schedule import Phase, Schedule
from .sequences import DEMONSTRATIONS, Sequences, concatenate, interleave
from .snapshot import PolicySnapshot


@dataclass(frozen=True)
class LoopSettings:
    """num_envs: games played at once. steps: k, decisions of a sequence. replay_ratio: mean number of updates from
    memory for each update from live play (Poisson). capacity: sequences in memory; start: how many there must be
    before it is learned from. value_decisions: played before the schedule begins, to fit Q to the policy as it is; they
    do not count (0: none, Q starts as the policy's file has it). log_every, checkpoint_every: decisions. overlap:
    collect the next sequences while learning from these ones (one iteration behind; μ is recorded, so nothing is
    biased by it)."""

    num_envs: int = 32
    steps: int = 20
    replay_ratio: float = 4.0
    capacity: int = 6400
    start: int = 256
    value_decisions: int = 20_000
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


class Trainer:
    """Runs a schedule.

    One iteration is `num_envs` sequences of `steps` decisions: they enter the memory, each with its share of
    demonstrations; one update from them; then Poisson(`replay_ratio`) updates from the memory. When a phase without
    demonstrations begins, they are removed from the memory before anything else happens.

    `folder` gets the checkpoints. A checkpoint is a barrier: nothing is being collected while it is taken. So its state
    is complete, and a run that goes on and one that is resumed do the same, to the bit.
    """

    def __init__(
        self,
        *,
        learner: AcerLearner,
        memory: SequenceMemory,
        demonstrations: Demonstrations | None,
        behaviour: Behaviour,
        schedule: Schedule,
        collector: Collector,
        settings: LoopSettings,
        generator: np.random.Generator,
        log: RunLog,
        folder: Path,
        phase_over: Callable[[int, Phase], None] = lambda index, phase: None,
        checkpoint_taken: Callable[[], None] = lambda: None,
        progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self._learner = learner
        self._memory = memory
        self._demonstrations = demonstrations
        self._behaviour = behaviour
        self._schedule = schedule
        self._collector = collector
        self._settings = settings
        self._generator = generator
        self._log = log
        self._folder = folder
        self._phase_over = phase_over
        self._checkpoint_taken = checkpoint_taken
        self._progress = progress
        self._actor = PolicySnapshot(learner.network)
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="live play")
        self._pending: Future[tuple[Sequences, list[EpisodeEnd]]] | None = None
        self._owed = 0.0
        self._logged = 0
        self._row: dict[str, Any] = {}
        self.decisions = 0
        """Decisions learned from so far, of live play (of demonstrations, in phases without live play)."""

    def run(self, until: int | None = None) -> None:
        """Go on to the end of the schedule, or to the first checkpoint at or after `until` decisions."""
        try:
            if not self.decisions and self._settings.value_decisions:
                self._fit_values()
            while not self._schedule.finished:
                self._iterate()
                if self._at_barrier(0):
                    self._checkpoint()
                    if until is not None and self.decisions >= until:
                        return
        finally:
            self._pool.shutdown(wait=True)
        self._write_row(self._schedule.phases[-1].name)

    def get_state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on."""
        assert self._pending is None
        state = {
            "decisions": self.decisions,
            "owed": self._owed,
            "learner": self._learner.get_state(),
            "memory": self._memory.get_state(),
            "demonstrations": self._demonstrations.get_state() if self._demonstrations else None,
            "schedule": self._schedule.get_state(),
            "collector": self._collector.get_state(),
        }
        return state | {"generator": self._generator.bit_generator.state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on where `get_state` was called, in a trainer made in the same way."""
        self.decisions = self._logged = int(state["decisions"])
        self._owed = float(state["owed"])
        self._learner.set_state(state["learner"])
        self._memory.set_state(state["memory"])
        if self._demonstrations:
            self._demonstrations.set_state(state["demonstrations"])
        self._schedule.set_state(state["schedule"])
        self._collector.set_state(state["collector"])
        self._generator.bit_generator.state = state["generator"]

    def _fit_values(self) -> None:
        with self._log.stopwatch.on("fitting values"):
            self._actor.take(self._learner.network)
            rounds = math.ceil(self._settings.value_decisions / self._per_iteration)
            played = [self._collector.collect(self._actor)[0] for _ in range(rounds)]
            self._learner.fit_values(concatenate(played))
            for sequences in played:
                self._memory.push(sequences)

    def _iterate(self) -> None:
        phase, progress = self._schedule.phase, self._schedule.progress
        watch = self._log.stopwatch
        parts: list[Sequences] = []
        returns: list[float] = []
        if phase.live:
            with watch.on("waiting for live play"):
                live, ends = self._live()
            self._start_collecting()
            self._log.episodes(ends)
            returns = [end.total_reward for end in ends]
            parts.append(live)
        with watch.on("memory"):
            shown = self._shown(phase, progress)
            if shown is not None:
                parts.append(shown)
            self._memory.push(interleave(*parts) if len(parts) == 2 else parts[0])
        rate, imitation = phase.learning_rate.at(progress), phase.imitation.at(progress)
        if phase.live:
            with watch.on("learning"):
                self._learner.update(live, learning_rate=rate, critic_only=phase.critic_only)
        if len(self._memory) >= self._settings.start:
            for number in range(int(self._generator.poisson(self._settings.replay_ratio))):
                with watch.on("memory"):
                    batch = self._memory.sample(self._settings.num_envs, self._generator)
                    batch = self._behaviour.at_sampling(batch, self._learner.probabilities)
                with watch.on("learning"):
                    diagnosis = self._learner.update(
                        batch,
                        learning_rate=rate,
                        imitation=imitation,
                        critic_only=phase.critic_only,
                        diagnose=number == 0,
                    )
                self._log.sampled(batch.source, diagnosis)
        self._count(phase, returns)

    def _count(self, phase: Phase, returns: list[float]) -> None:
        """Tell the schedule; do what the end of a phase and the time for a row in the log ask for."""
        index = self._schedule.index
        self.decisions += self._per_iteration
        over = self._schedule.advance(self._per_iteration, returns)
        if over or self._at_barrier(0) or self.decisions - self._logged >= self._settings.log_every:
            self._write_row(phase.name)
        if over:
            with self._log.stopwatch.on("end of phase"):
                self._end_phase(index, phase)
        left = 0 if self._schedule.finished else self._schedule.remaining
        self._progress(Progress(self.decisions, left, phase.name, self._row))

    def _end_phase(self, index: int, phase: Phase) -> None:
        if self._pending is not None and (self._schedule.finished or not self._schedule.phase.live):
            self._pending.result()
            self._pending = None
        if not self._schedule.finished and not self._schedule.phase.uses_demonstrations:
            self._memory.remove(DEMONSTRATIONS)
        self._phase_over(index, phase)

    def _live(self) -> tuple[Sequences, list[EpisodeEnd]]:
        if self._pending is None:
            self._actor.take(self._learner.network)
            return self._collector.collect(self._actor)
        pending, self._pending = self._pending, None
        return pending.result()

    def _start_collecting(self) -> None:
        if self._settings.overlap and not self._at_barrier(self._per_iteration):
            self._actor.take(self._learner.network)
            self._pending = self._pool.submit(self._collector.collect, self._actor)

    def _shown(self, phase: Phase, progress: float) -> Sequences | None:
        """The demonstrations that enter the memory in this iteration."""
        if self._demonstrations is None or not phase.uses_demonstrations:
            return None
        self._owed += phase.demonstrations.at(progress) * self._settings.num_envs
        count = int(self._owed)
        self._owed -= count
        return self._behaviour.at_insertion(self._demonstrations.next(count), self._learner.probabilities)

    @property
    def _per_iteration(self) -> int:
        return self._settings.num_envs * self._settings.steps

    def _at_barrier(self, ahead: int) -> bool:
        """Whether a checkpoint is due after the iteration that ends `ahead` decisions from now."""
        now, every = self.decisions + ahead, self._settings.checkpoint_every
        return now // every > (now - self._per_iteration) // every

    def _checkpoint(self) -> None:
        with self._log.stopwatch.on("checkpoint"):
            save_checkpoint(self._folder, self.decisions, self.get_state())
            self._checkpoint_taken()

    def _write_row(self, phase: str) -> None:
        played, self._logged = self.decisions - self._logged, self.decisions
        if played:
            more = {f"memory/{source}": share for source, share in self._memory.shares().items()}
            more["memory/sequences"] = float(len(self._memory))
            self._row = self._log.write(self.decisions, played, phase, more)
