"""The settings of `QWOPRace-v1`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput, naming
from ...common.settings import Settings, setting
from ...common.shared_settings import max_idle_frames
from ..names import FRAMES_A_SECOND, LONGEST_GAME, NUMBERS
from ..qwop.task import QWOPTask
from .events import EVENTS

MOST_RUNNERS = 64

RIVAL_NUMBERS = ("ahead", "speed", "down")


def _result_alone() -> tuple[float, ...]:
    return tuple({"won": 1.0, "lost": -1.0}.get(name, 0.0) for name in EVENTS)


@dataclass(frozen=True)
class RaceTask(Settings):
    """The settings of `QWOPRace-v1`; see `QWOPRaceVectorEnv`."""

    teams: int = setting(
        2, "Teams in a race. 1: runners without opponents, whose events are counted.", at_least=1, at_most=MOST_RUNNERS
    )
    team_size: int = setting(1, "Runners in a team.", at_least=1, at_most=MOST_RUNNERS)
    frames_per_step: int = setting(3, "Game frames (30 a second) per decision.", at_least=1, at_most=3600)
    observation: str = setting(
        "features",
        "Numbers of the runner itself: the 71 of the published recordings, 94 (full) or 112 (contact).",
        choices=[*NUMBERS],
    )
    max_idle_frames: int = max_idle_frames(0)
    time_limit: float = setting(
        120.0, "Seconds of the game clock after which a race is stopped.", above=0, at_most=LONGEST_GAME
    )
    weights: tuple[float, ...] = setting(
        _result_alone(),
        "Reward of each event, in the order of qwop.envs.race.events.EVENTS: by default 1 for a race won, -1 for one "
        "lost.",
        at_least=-1_000_000,
        at_most=1_000_000,
    )

    def __post_init__(self) -> None:
        with naming("QWOPRace-v1"):
            super().__post_init__()
            if len(self.weights) != len(EVENTS):
                raise BadInput(f"weights: {len(self.weights)} numbers, expected one for each of {len(EVENTS)} events")
            if self.runners > MOST_RUNNERS:
                raise BadInput(f"team_size={self.team_size}: {self.runners} runners, expected at most {MOST_RUNNERS}")

    @property
    def runners(self) -> int:
        """Runners in a race."""
        return self.teams * self.team_size

    @property
    def team_of(self) -> NDArray[np.int64]:
        """The team of each runner of a race, int64 [runners]."""
        return np.repeat(np.arange(self.teams), self.team_size)

    @property
    def others(self) -> NDArray[np.int64]:
        """The other runners as each one sees them, int64 [runners, runners - 1]: its team first, then the others."""
        teams, seen = self.team_of, []
        for runner in range(self.runners):
            around = [(runner + step) % self.runners for step in range(1, self.runners)]
            seen.append(sorted(around, key=lambda other: teams[other] != teams[runner]))
        return np.array(seen, dtype=np.int64)

    @property
    def world(self) -> QWOPTask:
        """The task of each runner's own world."""
        return QWOPTask(observation=self.observation, time_limit=LONGEST_GAME)

    @property
    def observation_names(self) -> tuple[str, ...]:
        more = (f"other{place}.{number}" for place in range(1, self.runners) for number in RIVAL_NUMBERS)
        own = self.world.observation_names
        assert own is not None  # the choices are of numbers
        return (*own, *more)

    @property
    def decisions_per_second(self) -> float:
        """Decisions per second of the game's clock."""
        return FRAMES_A_SECOND / self.frames_per_step

    @property
    def limit(self) -> int:
        """Frames after which a race is stopped."""
        return round(self.time_limit * FRAMES_A_SECOND)
