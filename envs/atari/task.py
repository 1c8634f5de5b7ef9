"""Settings of an Atari game, and how it starts."""

from typing import Annotated, ClassVar

import gymnasium
import numpy as np
from pydantic import Field

from ...common.settings import Settings, Share

FRAMES_A_SECOND = 60
"""Frames a second of the console."""


class AtariTask(Settings):
    """The settings of an Atari game; see `AtariEnv`. Defaults are those of Mnih et al. 2015."""

    called: ClassVar[str] = "Atari"

    frameskip: Annotated[int, Field(ge=2, le=60)] = 4
    """Frames (60 a second) that a decision lasts; it shows the maximum of the last two."""
    stack: Annotated[int, Field(ge=1, le=16)] = 4
    """Newest pictures in an observation."""
    size: Annotated[int, Field(ge=36, le=144)] = 84
    """Height and width of a picture, in pixels."""
    noop_max: Annotated[int, Field(ge=0, le=1000)] = 30
    """A game starts with fewer than this many frames without a button, drawn. 0: none."""
    fire: bool = True
    """Press FIRE at the start of a game that has it, such as Breakout."""
    repeat_action_probability: Share = 0.0
    """Probability that a frame repeats the action before (Machado et al. 2018: 0.25)."""
    full_action_space: bool = False
    """Offer all 18 actions, not only those that the game needs."""
    time_limit: Annotated[float, Field(gt=0, le=86_400)] = 1800.0
    """Seconds of the console after which a game is truncated."""

    @property
    def observation_space(self) -> "gymnasium.spaces.Box":
        shape = (self.stack, self.size, self.size)
        return gymnasium.spaces.Box(0, 255, shape, np.uint8)

    @property
    def decisions_per_second(self) -> float:
        """Decisions a second on the console."""
        return FRAMES_A_SECOND / self.frameskip

    @property
    def longest(self) -> int:
        """Decisions after which a game is truncated."""
        return max(round(self.time_limit * self.decisions_per_second), 1)


def console_seed(seed: int) -> int:
    """Return the seed that ale-py takes, from 1 to 2³¹ − 1 (it ignores 0)."""
    return 1 + seed % (2**31 - 1)


class Noops:
    """Draws the frames without a button at the starts of games as ale-py does, from a seed of its own.

    ale-py draws from 0 to noop_max − 1 by C++'s `std::mt19937` and `std::uniform_int_distribution`.
    """

    def __init__(self, noop_max: int) -> None:
        self._range = max(noop_max, 1)
        self._generator = np.random.RandomState()

    def seed(self, seed: int) -> None:
        """Begin again from this seed."""
        self._generator = np.random.RandomState(seed)

    def draw(self) -> int:
        """Draw the frames of the next game (Lemire 2019, as GNU's C++ library does it)."""
        rejected = 2**32 % self._range
        while True:
            product = int(self._generator.randint(2**32, dtype=np.uint32)) * self._range
            if product % 2**32 >= rejected:
                return product >> 32
