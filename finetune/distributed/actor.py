"""An actor: games and their collector, in a process of its own."""

from typing import Any

import numpy as np
import torch

from ..experience.collector import Collector, EpisodeEnd
from ..experience.sequences import Sequences
from ..experience.snapshot import PolicySnapshot
from ..schedules.environments import PhaseEnvironments


class PlayingActor:
    """Plays the environment of a phase with the policies that it is sent."""

    def __init__(self, environments: PhaseEnvironments, phase: int, steps: int, generator: np.random.Generator) -> None:
        torch.set_num_threads(1)
        self._environments = environments
        self._collector = Collector(environments.make(phase), steps, generator)

    def collect(self, policy: PolicySnapshot, progress: float) -> tuple[Sequences, list[EpisodeEnd]]:
        return self._collector.collect(policy, progress)

    def enter(self, phase: int) -> None:
        self._collector.enter(self._environments.make(phase))

    def saves_games(self) -> bool:
        return self._collector.saves_games

    def restart(self) -> None:
        self._collector.restart()

    def get_state(self) -> dict[str, Any]:
        return self._collector.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._collector.set_state(state)
