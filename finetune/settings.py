"""Settings of a run, whatever learns."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from .replay.behaviour import BehaviourSettings
from .schedules.phase import Phase
from .schedules.stability import StabilitySettings

A = TypeVar("A")
L = TypeVar("L", bound="LiveSettings")


@dataclass(frozen=True)
class LiveSettings:
    """Settings of live play.

    num_envs: episodes played at once. steps: decisions of each in an iteration. log_every, checkpoint_every: decisions.
    overlap: play the next iteration while learning from this one; μ is recorded, so the delay adds no bias.
    """

    num_envs: int = 32
    steps: int = 20
    log_every: int = 20_000
    checkpoint_every: int = 200_000
    overlap: bool = True


@dataclass(frozen=True)
class RunSettings(Generic[A, L]):
    """Everything that decides a run besides its initial policy and demonstrations.

    algorithm, loop: settings of the chosen agent. scale: multiplies the length of every phase. max_idle_frames: frames
    without a key that an episode may start with, where the environment has such starts.
    """

    phases: tuple[Phase, ...]
    algorithm: A
    loop: L
    scale: float = 1.0
    behaviour: BehaviourSettings = field(default_factory=BehaviourSettings)
    stability: StabilitySettings = field(default_factory=StabilitySettings)
    max_idle_frames: int = 30
    seed: int = 0

    @property
    def uses_demonstrations(self) -> bool:
        return any(phase.uses_demonstrations for phase in self.phases)
