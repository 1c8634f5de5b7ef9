"""Settings of a run, for any algorithm."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..common.settings import Settings, setting
from ..common.shared_settings import num_envs
from .distributed.settings import Local, RaySettings
from .replay.behaviour import BehaviourSettings
from .schedules.phase import Phase
from .schedules.stability import StabilitySettings

A = TypeVar("A")
L = TypeVar("L", bound="LiveSettings")


@dataclass(frozen=True)
class LiveSettings(Settings):
    """Settings of live play."""

    num_envs: int = num_envs(32, "Episodes played side by side.")
    steps: int = setting(20, "Decisions of each episode in an iteration.", at_least=1, at_most=100_000)
    log_every: int = setting(20_000, "Decisions between rows of the log.", at_least=1)
    checkpoint_every: int = setting(200_000, "Decisions between checkpoints.", at_least=1)
    overlap: bool = setting(
        True,
        "Play the next iteration while learning from this one. Its behaviour probabilities are recorded, so the delay "
        "adds no bias.",
    )


@dataclass(frozen=True)
class RunSettings(Generic[A, L]):
    """Everything that decides a run besides its initial policy and demonstrations.

    algorithm, loop: settings of the chosen agent. scale: multiplies the length of every phase. max_idle_frames: frames
    without a key that an episode may start with, where the environment has such starts. distributed: where live play
    happens.
    """

    phases: tuple[Phase, ...]
    algorithm: A
    loop: L
    scale: float = 1.0
    behaviour: BehaviourSettings = field(default_factory=BehaviourSettings)
    stability: StabilitySettings = field(default_factory=StabilitySettings)
    max_idle_frames: int = 30
    seed: int = 0
    distributed: Local | RaySettings = field(default_factory=Local)

    @property
    def uses_demonstrations(self) -> bool:
        return any(phase.uses_demonstrations for phase in self.phases)
