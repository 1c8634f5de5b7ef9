"""Common parts of agents that learn Q from transitions in memory."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from ...common.errors import BadInput
from ...datasets.schema import Episode
from ...policies.q_networks import EpsilonGreedy
from ..experience.transitions import NStep, Transitions
from ..metrics import Metrics
from ..replay.demonstrations import Demonstrations
from ..replay.transition_memory import TransitionMemory
from ..schedules.environments import relabelled_demonstrations
from ..schedules.phase import Phase
from .agent import Agent, FractionalCounter
from .dqn.losses import linear
from .learner import Learner, Part
from .settings import ClipsRewards, LiveSettings, QSettings

if TYPE_CHECKING:
    from ..run import Run


class QAgent(Agent):
    """Learns Q from transitions in memory.

    ε follows the schedule and is part of the network, so the behaviour policy is exactly
    π(a|s) = (1 − ε)·1{a = argmax Q(s, ·)} + ε/A, in live play and from a policy file alike.
    """

    learner: Learner[EpsilonGreedy, QSettings]

    def __init__(
        self,
        learner: Learner[EpsilonGreedy, QSettings],
        memory: TransitionMemory,
        settings: LiveSettings,
        metrics: Metrics,
        generator: np.random.Generator,
    ) -> None:
        self.learner = learner
        self.memory = memory
        self._settings, self._metrics, self._generator = settings, metrics, generator
        self._n_step = NStep(learner.settings.n_steps)
        self._demonstrations_due, self._updates_due = FractionalCounter(), FractionalCounter()

    @torch.no_grad()
    def advance(self, decisions: int, planned: int) -> None:
        """Set the network's ε."""
        a = self.learner.settings
        self.learner.network.epsilon.fill_(
            linear(a.epsilon_start, a.epsilon_end, decisions / (a.epsilon_share * planned))
        )

    def begin_phase(self, phase: Phase) -> None:
        if not phase.live:
            self._n_step.restart()

    def change_environment(self) -> None:
        self._n_step.restart()
        self.memory.clear()

    def drop_partial_episodes(self) -> None:
        self._n_step.restart()

    @property
    def parts(self) -> Mapping[str, Part]:
        return {
            "generator": self._generator,
            "updates_due": self._updates_due,
            "demonstrations_due": self._demonstrations_due,
            "learner": self.learner,
            "memory": self.memory,
            "n_step": self._n_step,
        }


def refuse_critic_only(phases: Sequence[Phase], algorithm: str) -> None:
    """Raise BadInput for critic-only phases: here the Q values define the policy."""
    for phase in phases:
        if phase.critic_only:
            raise BadInput(
                f"schedule.phases.{phase.name}.critic_only: algorithm={algorithm} has no policy apart from its values"
            )


def require_capacity(capacity: int, start: int, most: int) -> None:
    """Raise BadInput unless the memory can hold `start` transitions, and `most`, the maximum of one iteration."""
    if capacity < max(most, start):
        raise BadInput(
            f"loop.capacity={capacity}: fewer transitions than loop.start={start}, or than one iteration can bring "
            f"({most})"
        )


def transitions_for(run: "Run[QSettings, LiveSettings]") -> Transitions | None:
    """The demonstrations that a run learns from; None if it has none or uses none.

    γ is taken from the first phase that uses them.
    """
    phases = run.settings.phases
    if run.demonstrations is None or not run.settings.uses_demonstrations:
        return None
    episodes = relabelled_demonstrations(phases, run.policy.environment, run.demonstrations)
    first = next(number for number, phase in enumerate(phases) if phase.uses_demonstrations)
    return demonstrated_transitions(episodes, run.algorithm, run.gammas[first])


def demonstrated_transitions(episodes: Sequence[Episode], settings: QSettings, gamma: float) -> Transitions:
    """Every decision of the episodes as a transition, in recorded order, with the settings' `n_steps`."""
    decisions = sum(len(episode) for episode in episodes)
    whole = Demonstrations(episodes, streams=1, steps=decisions).next(1)
    if isinstance(settings, ClipsRewards):
        whole = settings.with_clipped_rewards(whole)
    return NStep(settings.n_steps).push(whole, gamma)
