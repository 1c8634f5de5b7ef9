"""Collectors that make the environments of a schedule's phases themselves, in this process or in one of their own."""

import numpy as np
import torch

from ..experience.collector import Collector
from ..schedules.environments import PhaseEnvironments


class PhaseCollector(Collector):
    """Plays the environment of a phase."""

    def __init__(self, environments: PhaseEnvironments, phase: int, steps: int, generator: np.random.Generator) -> None:
        self._environments = environments
        super().__init__(environments.make(phase), steps, generator)

    def enter_phase(self, phase: int) -> None:
        """Start new games in the environment of this phase."""
        self.enter(self._environments.make(phase))


class PlayingActor(PhaseCollector):
    """The same in a process of its own, with one thread."""

    def __init__(self, environments: PhaseEnvironments, phase: int, steps: int, generator: np.random.Generator) -> None:
        torch.set_num_threads(1)
        super().__init__(environments, phase, steps, generator)
