"""Common parts of agents that learn Q from transitions in memory: checks of a run, demonstrations as transitions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...common.errors import BadInput
from ...datasets.schema import Episode
from ..experience.transitions import NStep, Transitions
from ..replay.demonstrations import Demonstrations
from ..schedules.environments import remembered
from ..schedules.phase import Phase
from .settings import ClipsRewards

if TYPE_CHECKING:
    from ..run import Run


class NStepSettings(Protocol):
    """Settings of an algorithm that learns from transitions of n steps."""

    @property
    def n_steps(self) -> int: ...


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


def transitions_for(run: "Run[Any, Any]") -> Transitions | None:
    """The demonstrations that a run learns from; None if it has, or uses, none.

    γ is that of the first phase that uses them.
    """
    phases = run.settings.phases
    if run.demonstrations is None or not run.settings.uses_demonstrations:
        return None
    episodes = remembered(phases, run.policy.environment, run.demonstrations)
    first = next(number for number, phase in enumerate(phases) if phase.uses_demonstrations)
    return demonstrated_transitions(episodes, run.algorithm, run.gammas[first])


def demonstrated_transitions(episodes: Sequence[Episode], settings: NStepSettings, gamma: float) -> Transitions:
    """Every decision of the episodes as a transition, in recorded order, with the settings' `n_steps`."""
    decisions = sum(len(episode) for episode in episodes)
    whole = Demonstrations(episodes, streams=1, steps=decisions).next(1)
    if isinstance(settings, ClipsRewards):
        whole = settings.with_clipped_rewards(whole)
    return NStep(1, settings.n_steps).push(whole, gamma)
