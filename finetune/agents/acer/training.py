"""The training loop of ACER: live play, demonstrations, memory and learner, in the order that the schedule says."""

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from ...experience.sequences import DEMONSTRATIONS, SOURCES, Sequences, concatenate, interleave
from ...loop import LiveSettings, Loop, LoopArguments
from ...replay.behaviour import Behaviour
from ...replay.demonstrations import Demonstrations
from ...replay.sequence_memory import SequenceMemory
from ...schedules.schedule import Phase
from .learner import AcerLearner


@dataclass(frozen=True)
class LoopSettings(LiveSettings):
    """replay_ratio: mean number of updates from memory for each update from live play (Poisson). capacity: sequences in
    memory; start: how many there must be before it is learned from. value_decisions: played before the schedule begins,
    to fit Q to the policy as it is; they do not count (0: none, Q starts as the policy's file has it). The others: see
    `LiveSettings`."""

    replay_ratio: float = 4.0
    capacity: int = 6400
    start: int = 256
    value_decisions: int = 20_000


class Trainer(Loop):
    """Runs a schedule.

    One iteration's sequences enter the memory, each with its share of demonstrations; one update from them; then
    Poisson(`replay_ratio`) updates from the memory. When a phase without demonstrations begins, they are removed from
    the memory before anything else happens; so is everything when a phase begins in another environment.
    """

    def __init__(
        self,
        *,
        learner: AcerLearner,
        memory: SequenceMemory,
        demonstrations: Demonstrations | None,
        behaviour: Behaviour,
        settings: LoopSettings,
        **loop: Unpack[LoopArguments],
    ) -> None:
        super().__init__(learner.network, settings, **loop)
        self._learner = learner
        self._memory = memory
        self._demonstrations = demonstrations
        self._behaviour = behaviour
        self._settings = settings
        self._owed = 0.0

    def get_state(self) -> dict[str, Any]:
        return super().get_state() | {
            "owed": self._owed,
            "learner": self._learner.get_state(),
            "memory": self._memory.get_state(),
            "demonstrations": self._demonstrations.get_state() if self._demonstrations else None,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._owed = float(state["owed"])
        self._learner.set_state(state["learner"])
        self._memory.set_state(state["memory"])
        if self._demonstrations and state["demonstrations"] is not None:
            self._demonstrations.set_state(state["demonstrations"])

    def _prepare(self) -> None:
        """Fit the critic to the policy as it is. One that is still uniform has nothing to lose, and learns both."""
        if not self._settings.value_decisions:
            return
        with self._log.stopwatch.on("fitting values"):
            self._actor.take(self._learner.network)
            rounds = math.ceil(self._settings.value_decisions / self._per_iteration)
            played = [self._collector.collect(self._actor)[0] for _ in range(rounds)]
            together = concatenate(played)
            if not _is_uniform(together):
                self._learner.fit_values(together)
            for sequences in played:
                self._memory.push(sequences)

    def _iterate(self) -> None:
        phase, progress = self._schedule.phase, self._schedule.progress
        watch = self._log.stopwatch
        parts: list[Sequences] = []
        returns: list[float] = []
        if phase.live:
            live, returns = self._live()
            parts.append(live)
        with watch.on("memory"):
            shown = self._shown(phase, progress)
            if shown is not None:
                parts.append(shown)
            self._memory.push(interleave(*parts) if len(parts) == 2 else parts[0])
        rate, imitation = phase.learning_rate.at(progress), phase.imitation.at(progress)
        entropy = phase.entropy.at(progress)
        if phase.live:
            with watch.on("learning"):
                self._learner.update(live, learning_rate=rate, entropy=entropy, critic_only=phase.critic_only)
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
                        entropy=entropy,
                        critic_only=phase.critic_only,
                        diagnose=number == 0,
                    )
                self._log.sampled(batch.source, diagnosis)
        self._count(phase, returns)

    def _enter(self, decisions_per_second: float | None) -> None:
        self._learner.at_rate(decisions_per_second)
        for source in range(len(SOURCES)):
            self._memory.remove(source)

    def _phase_begins(self) -> None:
        if not self._schedule.phase.uses_demonstrations:
            self._memory.remove(DEMONSTRATIONS)

    def _measured(self) -> dict[str, float]:
        shares = {f"memory/{source}": share for source, share in self._memory.shares().items()}
        return shares | {"memory/sequences": float(len(self._memory))}

    def _shown(self, phase: Phase, progress: float) -> Sequences | None:
        """The demonstrations that enter the memory in this iteration."""
        if self._demonstrations is None or not phase.uses_demonstrations:
            return None
        self._owed += phase.demonstrations.at(progress) * self._settings.num_envs
        count = int(self._owed)
        self._owed -= count
        return self._behaviour.at_insertion(self._demonstrations.next(count), self._learner.probabilities)


def _is_uniform(played: Sequences) -> bool:
    mu = played.behaviour_probabilities
    return bool(np.abs(mu * mu.shape[-1] - 1).max() < 0.2)
