"""DQN as an agent: n-step transitions into memory, updates on samples from it."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....common.errors import BadInput
from ....envs.spec import ObservationSpec
from ....policies.q_networks import DuelingQ, QNetwork
from ....policies.sizes import NATURE
from ...experience.sequences import DEMONSTRATIONS, Sequences
from ...experience.transitions import NStep, Transitions, TransitionStream, mixed
from ...metrics import Metrics
from ...replay.prioritised_memory import PrioritisedMemory, PrioritySettings
from ...replay.transition_memory import TransitionMemory
from ...schedules.phase import Phase, PhaseValues
from ..agent import Agent, Due, MakeNetwork
from ..q_learning import refuse_critic_only, require_capacity, transitions_for
from .learner import DqnLearner
from .losses import linear
from .settings import DqnLoopSettings, DqnSettings

if TYPE_CHECKING:
    from ...run import Run


class DqnAgent(Agent):
    """Deep Q-learning, from plain DQN to prioritised double DQN, depending on the settings.

    It learns only from memory. Each iteration stores its transitions and their share of demonstrations, then updates
    once for every `train_every` decisions.

    ε follows the schedule and is part of the network, so the behaviour policy is exactly
    π(a|s) = (1 − ε)·1{a = argmax Q(s, ·)} + ε/A, in live play and from a policy file alike.
    """

    def __init__(
        self,
        learner: DqnLearner,
        memory: TransitionMemory,
        demonstrations: TransitionStream | None,
        settings: DqnLoopSettings,
        metrics: Metrics,
        generator: np.random.Generator,
    ) -> None:
        self.learner: DqnLearner = learner
        self.memory = memory
        self._demonstrations = demonstrations
        self._settings = settings
        self._metrics = metrics
        self._generator = generator
        self._n_step = NStep(settings.num_envs, learner.settings.n_steps)
        self._demonstrations_due, self._updates_due = Due(), Due()
        self._since_copy = 0.0
        self._beta = learner.settings.beta_start

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        with self._metrics.stopwatch.on("memory"):
            new = None
            if live is not None:
                new = self._n_step.push(self.learner.settings.with_clipped_rewards(live), now.gamma)
            parts = [part for part in (new, self._next_demonstrations(now)) if part is not None]
            self.memory.push(mixed(*parts) if len(parts) == 2 else parts[0])
        if len(self.memory) < self._settings.start:
            return
        for number in range(self._updates_due.take(self._settings.decisions / self._settings.train_every)):
            self._update_once(now, diagnose=number == 0)

    @torch.no_grad()
    def advance(self, decisions: int, planned: int) -> None:
        """Set ε, in the network, and β."""
        a = self.learner.settings
        epsilon = linear(a.epsilon_start, a.epsilon_end, decisions / (a.epsilon_share * planned))
        self.network.epsilon.fill_(epsilon)
        self._beta = linear(a.beta_start, 1.0, decisions / planned)

    def begin_phase(self, phase: Phase) -> None:
        if not phase.live:
            self._n_step.restart()
        if not phase.uses_demonstrations:
            self.memory.remove(DEMONSTRATIONS)

    def change_environment(self) -> None:
        self._n_step.restart()
        self.memory.clear()

    def interrupt(self) -> None:
        self._n_step.restart()

    def measurements(self) -> dict[str, float]:
        row = {f"memory/{source}": share for source, share in self.memory.shares().items()}
        row["memory/transitions"] = float(len(self.memory))
        row["learner/epsilon"] = float(self.network.epsilon)
        return row | {"learner/beta": self._beta} if self.learner.settings.prioritised else row

    @property
    def parts(self) -> dict[str, Any]:
        return {
            "generator": self._generator,
            "demonstrations_due": self._demonstrations_due,
            "updates_due": self._updates_due,
            "learner": self.learner,
            "memory": self.memory,
            "n_step": self._n_step,
            "demonstrations": self._demonstrations,
        }

    def get_state(self) -> dict[str, Any]:
        return super().get_state() | {"since_copy": self._since_copy}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._since_copy = float(state["since_copy"])

    def _update_once(self, now: PhaseValues, diagnose: bool) -> None:
        watch = self._metrics.stopwatch
        with watch.on("memory"):
            sample = self.memory.sample(self._settings.batch_size, self._beta, self._generator)
        with watch.on("learning"):
            errors, diagnosis = self.learner.update(sample.transitions, now, sample.weights, diagnose=diagnose)
            self._since_copy += self._settings.train_every
            if self._since_copy >= self._settings.target_every:
                self._since_copy -= self._settings.target_every
                self.learner.copy_target()
        with watch.on("memory"):
            self.memory.update(sample.slots, errors)
        self._metrics.sampled(sample.transitions.source, diagnosis)

    def _next_demonstrations(self, now: PhaseValues) -> Transitions | None:
        """Demonstrations to store in this iteration; None in a phase without any."""
        if self._demonstrations is None or not now.uses_demonstrations:
            return None
        return self._demonstrations.next(self._demonstrations_due.take(now.demonstrations * self._settings.decisions))


def new_network(settings: DqnSettings) -> MakeNetwork:
    """The untrained network of these settings."""

    def make(observation: ObservationSpec | int, actions: int, generator: torch.Generator) -> QNetwork:
        quantiles = max(settings.quantiles, 1)
        if settings.dueling and settings.layer_norm and settings.convolutions == NATURE:
            return DuelingQ(observation, actions, settings.hidden, generator, quantiles)
        return QNetwork(
            observation,
            actions,
            settings.hidden,
            generator,
            quantiles,
            dueling=settings.dueling,
            layer_norm=settings.layer_norm,
            convolutions=settings.convolutions,
        )

    return make


def build(run: "Run[DqnSettings, DqnLoopSettings]") -> DqnAgent:
    """Make the agent that learns the policy's network, in place."""
    policy, loop, algorithm, phases = run.policy, run.loop, run.algorithm, run.settings.phases
    network = policy.network
    if not isinstance(network, QNetwork):
        raise BadInput(
            f"algorithm=dqn or ddqn: the policy is an {network.architecture}, whose weights say nothing about Q "
            "values; record its games (qwop-record source=policy) and give them as demonstrations with policy=scratch"
        )
    refuse_critic_only(phases, "dqn or ddqn")
    live = loop.num_envs * (loop.steps + algorithm.n_steps)
    most_demonstrated = max(phase.demonstrations.largest for phase in phases)
    require_capacity(loop, live + round(loop.decisions * most_demonstrated))
    demonstrated = transitions_for(run)
    stream = None if demonstrated is None else TransitionStream(demonstrated)
    if algorithm.prioritised:
        priorities = PrioritySettings(algorithm.alpha, algorithm.priority_epsilon, algorithm.demonstration_bonus)
        memory: TransitionMemory = PrioritisedMemory(loop.capacity, policy.observation, priorities)
    else:
        memory = TransitionMemory(loop.capacity, policy.observation)
    return DqnAgent(DqnLearner(network, algorithm, run.device), memory, stream, loop, run.log.metrics, run.for_agent)
