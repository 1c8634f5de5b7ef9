"""Common parts of agents that learn Q from transitions in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ...common.errors import BadInput
from ...policies.q_networks import EpsilonGreedy
from ..experience.transitions import NStep, Transitions
from ..log import RunLog
from ..replay.demonstrations import Demonstrations
from ..replay.transition_memory import TransitionMemory
from ..schedules.phase import Phase
from .agent import Agent, FractionalCounter, Learner, Part
from .settings import LiveSettings, QSettings


@dataclass(eq=False)
class QAgent(Agent):
    """Learns Q from transitions in memory.

    ε follows the schedule and is part of the network, so the behaviour policy is exactly
    π(a|s) = (1 − ε)·1{a = argmax Q(s, ·)} + ε/A, in live play and from a policy file alike.
    """

    learner: Learner[EpsilonGreedy, QSettings]
    memory: TransitionMemory
    demonstrations: Demonstrations[Transitions] | None
    settings: LiveSettings
    log: RunLog
    generator: np.random.Generator

    def __post_init__(self) -> None:
        self.n_step = NStep(self.learner.settings.n_steps)
        self.demonstrations_due, self.updates_due = FractionalCounter(), FractionalCounter()

    @torch.no_grad()
    def advance(self, decisions: int, planned: int) -> None:
        """Set the network's ε."""
        a = self.learner.settings
        self.learner.network.epsilon.fill_(
            linear(a.epsilon_start, a.epsilon_end, decisions / (a.epsilon_share * planned))
        )

    def begin_phase(self, phase: Phase) -> None:
        if not phase.live:
            self.n_step.restart()

    def change_environment(self) -> None:
        self.n_step.restart()
        self.memory.clear()

    def drop_partial_episodes(self) -> None:
        self.n_step.restart()

    def measurements(self) -> dict[str, float]:
        return {"memory/transitions": float(len(self.memory)), "learner/epsilon": float(self.learner.network.epsilon)}

    @property
    def parts(self) -> Mapping[str, Part]:
        return {
            "generator": self.generator,
            "updates_due": self.updates_due,
            "demonstrations_due": self.demonstrations_due,
            "demonstrations": self.demonstrations,
            "learner": self.learner,
            "memory": self.memory,
            "n_step": self.n_step,
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


def linear(start: float, end: float, share: float) -> float:
    """Linear interpolation from start to end at `share`, which is clipped to 0 … 1."""
    return start + (end - start) * min(max(share, 0.0), 1.0)
