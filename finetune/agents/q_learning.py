"""Common parts of agents that learn Q from transitions in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ...policies.q_networks import EpsilonGreedy
from ..experience.sequences import NStep
from ..replay.transition_memory import TransitionMemory
from .agent import FractionalCounter, K, Learner, ReplayAgent, network_of
from .settings import QSettings


@dataclass(eq=False)
class QAgent(ReplayAgent):
    """Learns Q from transitions in memory.

    ε follows the schedule and is part of the network, so the behaviour policy is exactly
    π(a|s) = (1 − ε)·1{a = argmax Q(s, ·)} + ε/A, in live play and from a policy file alike.
    """

    learner: Learner[EpsilonGreedy, QSettings]
    memory: TransitionMemory

    def __post_init__(self) -> None:
        self.n_step, self.updates_due = NStep(self.learner.settings.n_steps), FractionalCounter()

    @torch.no_grad()
    def advance(self, decisions: int, planned: int) -> None:
        """Set the network's ε."""
        a = self.learner.settings
        self.learner.network.epsilon.fill_(
            linear(a.epsilon_start, a.epsilon_end, decisions / (a.epsilon_share * planned))
        )

    def drop_partial_episodes(self) -> None:
        self.n_step.restart()

    def measurements(self) -> dict[str, float]:
        return {"memory/transitions": float(len(self.memory)), "learner/epsilon": float(self.learner.network.epsilon)}

    @property
    def parts(self) -> Mapping[str, Any]:
        return {**super().parts, "updates_due": self.updates_due, "n_step": self.n_step}


def critic_of(run: Any, kind: type[K]) -> K:
    """The policy's network, whose Q values define the policy; BadInput if it is of another kind, or for phases with
    critic_only."""
    return network_of(run, kind, "has no policy apart from its values (critic_only)", lambda phase: phase.critic_only)


def linear(start: float, end: float, share: float) -> float:
    """Linear interpolation from start to end at `share`, which is clipped to 0 … 1."""
    return start + (end - start) * min(max(share, 0.0), 1.0)
