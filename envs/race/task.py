"""The settings of `QWOPRace-v1`."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...common.errors import BadInput
from ...common.settings import Settings, Several
from ...common.shared_settings import IdleFrames
from ..names import FRAMES_A_SECOND, LONGEST_GAME, Numbers
from ..qwop.task import QWOPTask
from .events import EVENTS

MOST_RUNNERS = 64

RIVAL_NUMBERS = ("ahead", "speed", "down")


def _result_alone() -> tuple[float, ...]:
    return tuple({"won": 1.0, "lost": -1.0}.get(name, 0.0) for name in EVENTS)


class RaceTask(Settings):
    """The settings of `QWOPRace-v1`; see `QWOPRaceVectorEnv`."""

    called: ClassVar[str] = "QWOPRace-v1"

    runners: Annotated[int, Field(ge=1, le=MOST_RUNNERS)] = 2
    """Runners in a race. 1: no opponents, but the events are counted."""
    frames_per_step: Annotated[int, Field(ge=1, le=3600)] = 3
    """Game frames (30 a second) per decision."""
    observation: Numbers = "features"
    """Numbers of the runner itself: the 71 of the published recordings, 94 (full) or 112 (contact)."""
    max_idle_frames: IdleFrames = 0
    time_limit: Annotated[float, Field(gt=0, le=LONGEST_GAME)] = 120.0
    """Seconds of the game clock after which a race is stopped."""
    weights: Several[Annotated[float, Field(ge=-1_000_000, le=1_000_000)]] = _result_alone()
    """Reward of each event, in the order of qwop.envs.race.events.EVENTS: by default 1 for a race won, -1 for one
    lost."""

    def check(self) -> None:
        if len(self.weights) != len(EVENTS):
            raise BadInput(f"weights: {len(self.weights)} numbers, expected one for each of {len(EVENTS)} events")

    @property
    def others(self) -> NDArray[np.int64]:
        """The other runners as each one sees them, int64 [runners, runners - 1]: those that follow it, and so round."""
        return (np.arange(self.runners)[:, None] + np.arange(1, self.runners)) % self.runners

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
