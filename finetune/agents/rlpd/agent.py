"""RLPD agent: many updates, on batches of live transitions from memory and demonstrated ones."""

from typing import TYPE_CHECKING

import numpy as np

from ....common.errors import BadInput
from ....policies.q_networks import EnsembleQ
from ...experience.sequences import Sequences
from ...experience.transitions import Transitions, joined
from ...metrics import Metrics
from ...replay.transition_memory import TransitionMemory
from ...schedules.phase import PhaseValues
from ..agent import Makes, of_kind
from ..q_learning import QAgent, refuse_critic_only, require_capacity, transitions_for
from .learner import RlpdLearner
from .settings import RlpdLoopSettings, RlpdSettings

if TYPE_CHECKING:
    from ...run import Run


class RlpdAgent(QAgent):
    """Learns from batches of both live and demonstrated transitions.

    Demonstrations are stored separately, because the memory would overwrite them. In a phase with `demonstrations` d,
    every batch holds d of them for each live transition. d = 1 is the paper's symmetric sampling; d = 0 uses none.
    """

    learner: RlpdLearner
    _settings: RlpdLoopSettings

    def __init__(
        self,
        learner: RlpdLearner,
        demonstrated: Transitions | None,
        memory: TransitionMemory,
        settings: RlpdLoopSettings,
        metrics: Metrics,
        generator: np.random.Generator,
    ) -> None:
        super().__init__(learner, memory, settings, metrics, generator)
        self._demonstrated = demonstrated

    def learn(self, live: Sequences | None, now: PhaseValues) -> None:
        if live is not None:
            with self._metrics.timer.section("memory"):
                self.memory.push(self._n_step.push(live, now.gamma))
        if now.live and len(self.memory) < self._settings.start:
            return
        due = self._updates_due.take(self._settings.decisions * self._settings.updates_per_decision)
        for number in range(due):
            with self._metrics.timer.section("memory"):
                batch = self._batch(now)
            with self._metrics.timer.section("learning"):
                stats = self.learner.update(batch, now, diagnose=number == 0)
            self._metrics.add_batch(batch.source, stats)

    def measurements(self) -> dict[str, float]:
        return {"memory/transitions": float(len(self.memory)), "learner/epsilon": float(self.learner.network.epsilon)}

    def _batch(self, now: PhaseValues) -> Transitions:
        """Live and demonstrated transitions in the phase's ratio, both sampled uniformly."""
        size, shown = self._settings.batch_size, 0
        if self._demonstrated is not None:
            share = now.demonstrations / (1.0 + now.demonstrations) if now.live else 1.0
            shown = min(self._demonstrations_due.take(size * share), size)
        parts = []
        if shown < size:
            parts.append(self.memory.sample(size - shown, 0.0, self._generator).transitions)
        if shown:
            assert self._demonstrated is not None
            parts.append(self._demonstrated[self._generator.integers(len(self._demonstrated), size=shown)])
        return joined(parts)


def new_network(settings: RlpdSettings) -> Makes[EnsembleQ]:
    """The untrained network of these settings."""
    return lambda observation, actions, generator: EnsembleQ(
        observation, actions, settings.hidden, generator, settings.members
    )


def build(run: "Run[RlpdSettings, RlpdLoopSettings]") -> RlpdAgent:
    """Make the agent, which trains the policy's network in place."""
    network, loop, algorithm = of_kind(run.policy.network, EnsembleQ, "rlpd"), run.loop, run.algorithm
    refuse_critic_only(run.settings.phases, "rlpd")
    require_capacity(loop.capacity, loop.start, loop.num_envs * (loop.steps + algorithm.n_steps))
    if network.members < algorithm.subset:
        raise BadInput(f"algorithm.subset={algorithm.subset}: the policy's ensemble has {network.members} members")
    demonstrated = transitions_for(run)
    memory = TransitionMemory(loop.capacity, run.policy.observation)
    learner = RlpdLearner(network, algorithm, run.device, run.for_agent)
    return RlpdAgent(learner, demonstrated, memory, loop, run.log.metrics, run.for_agent)
