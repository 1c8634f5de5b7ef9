"""The training loop of prioritised double DQN, in the order that the schedule says."""

from dataclasses import dataclass
from typing import Any, Unpack

import torch

from ....common.errors import BadInput
from ...experience.sequences import DEMONSTRATIONS
from ...experience.transitions import NStep, Transitions, TransitionStream, mixed
from ...loop import LiveSettings, Loop, LoopArguments
from ...replay.prioritised_memory import PrioritisedMemory
from ...schedules.schedule import Phase
from .learner import DdqnLearner, DdqnSettings
from .losses import linear


@dataclass(frozen=True)
class DdqnLoopSettings(LiveSettings):
    """capacity: transitions in memory; start: how many there must be before it is learned from. batch_size:
    transitions of an update. train_every: decisions for each update; target_every: decisions between copies of the
    network into its target. The others: see `LiveSettings`."""

    capacity: int = 300_000
    start: int = 3_000
    batch_size: int = 64
    train_every: float = 4.0
    target_every: int = 500

    def __post_init__(self) -> None:
        for name in ("num_envs", "steps", "capacity", "start", "batch_size", "train_every", "target_every"):
            if not getattr(self, name) > 0:
                raise BadInput(f"loop.{name}={getattr(self, name)}: expected more than 0")


class DdqnTrainer(Loop):
    """Runs a schedule.

    One iteration's transitions enter the memory, `demonstrations` of the phase for each live one; then one update from
    the memory for every `train_every` decisions. When a phase without demonstrations begins, they are removed from the
    memory before anything else happens; so is everything when a phase begins in another environment.

    ε follows the decisions, and lies in the network: what plays at any time, here or from a file, is exactly
    π(a|s) = (1 − ε)·1{a = argmax Q(s, ·)} + ε/A.
    """

    def __init__(
        self,
        *,
        learner: DdqnLearner,
        memory: PrioritisedMemory,
        demonstrations: TransitionStream | None,
        algorithm: DdqnSettings,
        rate: float | None,
        settings: DdqnLoopSettings,
        **loop: Unpack[LoopArguments],
    ) -> None:
        super().__init__(learner.network, settings, **loop)
        self._learner = learner
        self._memory = memory
        self._demonstrations = demonstrations
        self._algorithm = algorithm
        self._settings = settings
        self._n_step = self._new_n_step(rate)
        self._planned = sum(self._schedule.lengths)
        self._owed = 0.0
        self._due = 0.0
        self._since_copy = 0.0
        self._explore()

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        if "seed" in state["collector"]:  # it began new games
            self._n_step.restart()
        return state | {
            "owed": self._owed,
            "due": self._due,
            "since_copy": self._since_copy,
            "learner": self._learner.get_state(),
            "memory": self._memory.get_state(),
            "n_step": self._n_step.get_state(),
            "demonstrations": self._demonstrations.get_state() if self._demonstrations else None,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._owed = float(state["owed"])
        self._due = float(state["due"])
        self._since_copy = float(state["since_copy"])
        self._learner.set_state(state["learner"])
        self._memory.set_state(state["memory"])
        self._n_step.set_state(state["n_step"])
        if self._demonstrations and state["demonstrations"] is not None:
            self._demonstrations.set_state(state["demonstrations"])

    def _iterate(self) -> None:
        phase, progress = self._schedule.phase, self._schedule.progress
        watch = self._log.stopwatch
        parts: list[Transitions] = []
        returns: list[float] = []
        if phase.live:
            live, returns = self._live()
            with watch.on("memory"):
                parts.append(self._n_step.push(live))
        with watch.on("memory"):
            shown = self._shown(phase, progress)
            if shown is not None:
                parts.append(shown)
            self._memory.push(mixed(*parts) if len(parts) == 2 else parts[0])
        if len(self._memory) >= self._settings.start:
            self._due += self._per_iteration / self._settings.train_every
            updates = int(self._due)
            self._due -= updates
            for number in range(updates):
                self._update(phase, progress, diagnose=number == 0)
        self._count(phase, returns)
        self._explore()

    def _update(self, phase: Phase, progress: float, diagnose: bool) -> None:
        with self._log.stopwatch.on("memory"):
            sample = self._memory.sample(self._settings.batch_size, self._beta, self._generator)
        with self._log.stopwatch.on("learning"):
            errors, diagnosis = self._learner.update(
                sample.transitions,
                sample.weights,
                learning_rate=phase.learning_rate.at(progress),
                imitation=phase.imitation.at(progress),
                diagnose=diagnose,
            )
            self._since_copy += self._settings.train_every
            if self._since_copy >= self._settings.target_every:
                self._since_copy -= self._settings.target_every
                self._learner.copy_target()
        with self._log.stopwatch.on("memory"):
            self._memory.update(sample.places, errors)
        self._log.sampled(sample.transitions.source, diagnosis)

    def _enter(self, decisions_per_second: float | None) -> None:
        self._n_step = self._new_n_step(decisions_per_second)
        self._memory.clear()

    def _phase_begins(self) -> None:
        if not self._schedule.phase.live:
            self._n_step.restart()  # what was being played is dropped
        if not self._schedule.phase.uses_demonstrations:
            self._memory.remove(DEMONSTRATIONS)

    def _measured(self) -> dict[str, float]:
        row = {f"memory/{source}": share for source, share in self._memory.shares().items()}
        row["memory/transitions"] = float(len(self._memory))
        return row | {"learner/epsilon": float(self._learner.network.epsilon), "learner/beta": self._beta}

    def _shown(self, phase: Phase, progress: float) -> Transitions | None:
        """The demonstrations that enter the memory in this iteration."""
        if self._demonstrations is None or not phase.uses_demonstrations:
            return None
        self._owed += phase.demonstrations.at(progress) * self._per_iteration
        count = int(self._owed)
        self._owed -= count
        return self._demonstrations.next(count)

    @property
    def _beta(self) -> float:
        return linear(self._algorithm.beta_start, 1.0, self.decisions / self._planned)

    @torch.no_grad()
    def _explore(self) -> None:
        """Put the ε of now into the network."""
        a = self._algorithm
        self._learner.network.epsilon.fill_(
            linear(a.epsilon_start, a.epsilon_end, self.decisions / (a.epsilon_share * self._planned))
        )

    def _new_n_step(self, rate: float | None) -> NStep:
        algorithm = self._algorithm.at_rate(rate)
        return NStep(self._settings.num_envs, algorithm.n_steps, algorithm.gamma)
