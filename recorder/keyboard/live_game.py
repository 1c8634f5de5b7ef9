"""A game of QWOP that a person is playing, one frame at a time."""

import numpy as np
from numpy.typing import NDArray

from ...envs.qwop.env import QWOPEnv


class LiveGame:
    """A game that a person plays alone. keys: of every frame so far."""

    def __init__(self) -> None:
        self._env = QWOPEnv(frames_per_step=1)
        _, self._info = self._env.reset()
        self.keys: list[int] = []

    def advance(self, keys: int) -> None:
        """Play one frame with these keys (Q = 1, W = 2, O = 4, P = 8)."""
        *_, self._info = self._env.advance(keys)
        self.keys.append(keys)

    @property
    def over(self) -> bool:
        """True once the game has ended by itself."""
        return bool(self._info["outcome"] != "running")

    @property
    def played(self) -> bool:
        """True once a key was pressed."""
        return any(self.keys)

    @property
    def state(self) -> NDArray[np.float64]:
        """Current state of the bodies, float64 [14, 6]."""
        return self._env.state

    @property
    def metres(self) -> float:
        """The score."""
        return float(self._info["score"])

    @property
    def seconds(self) -> float:
        """Time since the first key was pressed."""
        return float(self._info["time"])

    @property
    def outcome(self) -> str:
        """'finished', 'fell', or 'stopped' for a game that the time limit or the player has cut short."""
        return str(self._info["outcome"]) if self.over else "stopped"
