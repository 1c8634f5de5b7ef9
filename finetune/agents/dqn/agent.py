"""DQN agent: stores n-step transitions in memory and updates on samples from it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ....policies.q_networks import DuelingQ, QNetwork
from ....policies.sizes import NATURE
from ...experience.sequences import DEMONSTRATIONS, Sequences
from ...experience.transitions import Transitions, TransitionStream, mixed
from ...metrics import Metrics
from ...replay.prioritised_memory import PrioritisedMemory
from ...replay.transition_memory import TransitionMemory
from ...schedules.phase import Phase, PhaseValues
from ..agent import Makes, of_kind
from ..learner import Part
from ..q_learning import QAgent, refuse_critic_only, require_capacity, transitions_for
from .learner import DqnLearner
from .losses import linear
from .settings import DqnLoopSettings, DqnSettings

if TYPE_CHECKING:
    from ...run import Run


class DqnAgent(QAgent):
    """Deep Q-learning, from plain DQN to prioritised double DQN, depending on the settings.

    It learns only from memory. Each iteration stores its transitions and their share of demonstrations, then updates
    once for every `train_every` decisions.
    """

    learner: DqnLearner
    _settings: DqnLoopSettings

    def __init__(
        self,
        learner: DqnLearner,
        memory: TransitionMemory,
        demonstrations: TransitionStream | None,
        settings: DqnLoopSettings,
        metrics: Metrics,
        generator: np.random.Generator,
    ) -> None:
        super().__init__(learner, memory, settings, metrics, generator)
        self._demonstrations = demonstrations
        self._since_copy = 0.0
        self._beta = learner.settings.beta_start

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        with self._metrics.timer.section("memory"):
            new = None
            if live is not None:
                new = self._n_step.push(self.learner.settings.with_clipped_rewards(live), now.gamma)
            parts = [part for part in (new, self._next_demonstrations(now)) if part is not None]
            self.memory.push(mixed(*parts) if len(parts) == 2 else parts[0])
        if len(self.memory) < self._settings.start:
            return
        for number in range(self._updates_due.take(self._settings.decisions / self._settings.train_every)):
            self._update_once(now, diagnose=number == 0)

    def advance(self, decisions: int, planned: int) -> None:
        """Set ε (in the network) and β."""
        super().advance(decisions, planned)
        self._beta = linear(self.learner.settings.beta_start, 1.0, decisions / planned)

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        if not phase.uses_demonstrations:
            self.memory.remove(DEMONSTRATIONS)

    def measurements(self) -> dict[str, float]:
        row = {f"memory/{source}": share for source, share in self.memory.shares().items()}
        row["memory/transitions"] = float(len(self.memory))
        row["learner/epsilon"] = float(self.learner.network.epsilon)
        return row | {"learner/beta": self._beta} if self.learner.settings.prioritised else row

    @property
    def parts(self) -> Mapping[str, Part]:
        return {**super().parts, "demonstrations": self._demonstrations}

    def get_state(self) -> dict[str, object]:
        return super().get_state() | {"since_copy": self._since_copy}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._since_copy = float(state["since_copy"])

    def _update_once(self, now: PhaseValues, diagnose: bool) -> None:
        timer = self._metrics.timer
        with timer.section("memory"):
            sample = self.memory.sample(self._settings.batch_size, self._beta, self._generator)
        with timer.section("learning"):
            errors, stats = self.learner.update(sample.transitions, now, sample.weights, diagnose=diagnose)
            self._since_copy += self._settings.train_every
            if self._since_copy >= self._settings.target_every:
                self._since_copy -= self._settings.target_every
                self.learner.copy_target()
        if isinstance(self.memory, PrioritisedMemory):
            with timer.section("memory"):
                self.memory.update(sample.slots, errors.cpu().numpy())
        self._metrics.add_batch(sample.transitions.source, stats)

    def _next_demonstrations(self, now: PhaseValues) -> Transitions | None:
        """Demonstrations to store in this iteration; None in a phase without demonstrations."""
        if self._demonstrations is None or not now.uses_demonstrations:
            return None
        return self._demonstrations.next(self._demonstrations_due.take(now.demonstrations * self._settings.decisions))


def new_network(settings: DqnSettings) -> Makes[QNetwork]:
    """The untrained network of these settings."""
    if settings.dueling and settings.layer_norm and settings.convolutions == NATURE:
        return lambda observation, actions, generator: DuelingQ(observation, actions, settings.hidden, generator)
    layers = {"dueling": settings.dueling, "layer_norm": settings.layer_norm}
    return lambda observation, actions, generator: QNetwork(
        observation, actions, settings.hidden, generator, convolutions=settings.convolutions, **layers
    )


def build(run: "Run[DqnSettings, DqnLoopSettings]") -> DqnAgent:
    """Make the agent, which trains the policy's network in place."""
    policy, loop, algorithm, phases = run.policy, run.loop, run.algorithm, run.settings.phases
    refuse_critic_only(phases, "dqn or ddqn")
    live = loop.num_envs * (loop.steps + algorithm.n_steps)
    most_demonstrated = max(phase.demonstrations.largest for phase in phases)
    require_capacity(loop.capacity, loop.start, live + round(loop.decisions * most_demonstrated))
    network = of_kind(policy.network, QNetwork, "dqn or ddqn")
    demonstrated = transitions_for(run)
    stream = None if demonstrated is None else TransitionStream(demonstrated)
    if algorithm.prioritised:
        memory: TransitionMemory = PrioritisedMemory(loop.capacity, policy.observation, algorithm.alpha)
    else:
        memory = TransitionMemory(loop.capacity, policy.observation)
    return DqnAgent(DqnLearner(network, algorithm, run.device), memory, stream, loop, run.log.metrics, run.for_agent)
