"""Common parts of agents that learn Q from transitions in memory: checks of a run, demonstrations as transitions."""

from collections.abc import Sequence
from typing import Any, Protocol, Self

from ...common.errors import BadInput
from ...datasets.reader import Dataset
from ...datasets.schema import Episode
from ...policies.policy import Policy
from ..experience.transitions import NStep, Transitions
from ..replay.demonstrations import Demonstrations
from ..schedules.environments import phase_environments, remembered
from ..schedules.phase import Phase
from ..settings import RunSettings
from .clipping import ClipsRewards


class NStepSettings(Protocol):
    """Settings of an algorithm that learns from transitions of n steps."""

    @property
    def n_steps(self) -> int: ...

    @property
    def gamma(self) -> float: ...

    def at_rate(self, decisions_per_second: float | None) -> Self: ...


class MemorySettings(Protocol):
    """Settings of a loop that fills a memory of transitions."""

    @property
    def capacity(self) -> int: ...

    @property
    def start(self) -> int: ...


def refuse_critic_only(phases: Sequence[Phase], algorithm: str) -> None:
    """Raise BadInput for phases that learn values alone: here the values are the policy."""
    for phase in phases:
        if phase.critic_only:
            raise BadInput(
                f"schedule.phases.{phase.name}.critic_only: algorithm={algorithm} has no policy apart from its values"
            )


def require_capacity(loop: MemorySettings, most: int) -> None:
    """Raise BadInput unless the memory holds the most transitions that one iteration can bring, and `loop.start`."""
    if loop.capacity < max(most, loop.start):
        raise BadInput(
            f"loop.capacity={loop.capacity}: fewer transitions than loop.start={loop.start}, or than one iteration can "
            f"bring ({most})"
        )


def transitions_for(policy: Policy, dataset: Dataset | None, settings: RunSettings[Any, Any]) -> Transitions | None:
    """The demonstrations that a run learns from; None if it has, or uses, none.

    γ is that of the decision rate in the first phase that uses them.
    """
    if dataset is None or not settings.uses_demonstrations:
        return None
    episodes = remembered(settings.phases, policy.environment, dataset)
    first = next(number for number, phase in enumerate(settings.phases) if phase.uses_demonstrations)
    rate = phase_environments(policy.environment, settings.phases)[first].capabilities.decisions_per_second
    return demonstrated_transitions(episodes, settings.algorithm.at_rate(rate))


def demonstrated_transitions(episodes: Sequence[Episode], settings: NStepSettings) -> Transitions:
    """Every decision of the episodes as a transition, in recorded order; γ is that of the settings."""
    decisions = sum(len(episode) for episode in episodes)
    whole = Demonstrations(episodes, streams=1, steps=decisions).next(1)
    if isinstance(settings, ClipsRewards):
        whole = settings.learned(whole)
    return NStep(1, settings.n_steps, settings.gamma).push(whole)
