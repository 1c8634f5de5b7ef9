"""A game of QWOP that a person is playing, one frame at a time."""

import numpy as np
from numpy.typing import NDArray

from ..envs.qwop.env import QWOPEnv


class FrameByFrame:
    """A game after idle frames. keys: of every frame so far. info: as of the last one."""

    def __init__(self, env: QWOPEnv, idle: int = 0) -> None:
        self.env = env
        self._observation, self.info = env.reset(options={"idle_frames": idle})
        self.keys: list[int] = [0] * idle

    @property
    def over(self) -> bool:
        """True once the game has ended by itself."""
        return bool(self.info["outcome"] != "running")

    @property
    def last_keys(self) -> int:
        """Keys of the last frame; 0 before the first."""
        return self.keys[-1] if self.keys else 0

    @property
    def state(self) -> NDArray[np.float64]:
        """Current state of the bodies, float64 [14, 6]."""
        return self.env.state

    @property
    def metres(self) -> float:
        """The score."""
        return float(self.info["score"])

    @property
    def seconds(self) -> float:
        """Time since the first key was pressed."""
        return float(self.info["time"])

    @property
    def outcome(self) -> str:
        """'finished', 'fell', or 'stopped' for a game that the time limit or the player has cut short."""
        return str(self.info["outcome"]) if self.over else "stopped"


class LiveGame(FrameByFrame):
    """A game that a person plays alone."""

    def __init__(self) -> None:
        super().__init__(QWOPEnv(frames_per_step=1))

    def advance(self, keys: int) -> None:
        """Play one frame with these keys (Q = 1, W = 2, O = 4, P = 8)."""
        *_, self.info = self.env.advance(keys)
        self.keys.append(keys)

    @property
    def played(self) -> bool:
        """True once a key was pressed."""
        return any(self.keys)
