"""A game under way at the page."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...envs.qwop.env import QWOPEnv
from .rows import ROW, row_of


class LiveGame:
    """Plays frame by frame with whatever keys the page sends, and remembers them.

    over: whether it has ended by itself. keys: those of every frame so far, uint8 [n].
    """

    def __init__(self) -> None:
        self._env = QWOPEnv(frames_per_step=1)
        _, self._info = self._env.reset()
        self._keys: list[int] = []

    @property
    def over(self) -> bool:
        return bool(self._info["outcome"] != "running")

    @property
    def stopped_by_limit(self) -> bool:
        return bool(self._info["outcome"] == "stopped")

    @property
    def keys(self) -> NDArray[np.uint8]:
        return np.array(self._keys, dtype=np.uint8)

    @property
    def state(self) -> NDArray[np.float64]:
        """The bodies now, float64 [14, 6]."""
        return self._env.state

    @property
    def played(self) -> bool:
        """Whether any key was pressed."""
        return any(self._keys)

    def row(self) -> NDArray[np.float32]:
        """This moment, for the page."""
        keys = self._keys[-1] if self._keys else 0
        return row_of(self._env.state, self._info["score"], self._info["time"], keys)

    def advance(self, keys: Sequence[int]) -> NDArray[np.float32]:
        """Play a frame with each of these keys, until the game is over; float32 [frames played, ROW]."""
        rows = []
        for pressed in keys:
            if self.over:
                break
            *_, self._info = self._env.advance(pressed)
            self._keys.append(pressed)
            rows.append(self.row())
        return np.stack(rows) if rows else np.empty((0, ROW), dtype="<f4")

    def summary(self) -> dict[str, float | str]:
        """How it stands: outcome ('stopped' where it was left), metres, seconds since the first key."""
        outcome = self._info["outcome"] if self.over else "stopped"
        return {"outcome": outcome, "metres": self._info["score"], "seconds": self._info["time"]}
