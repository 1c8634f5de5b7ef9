"""A game for the page's server that needs no environment of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from qwop.datasets.from_keys import episode_from_keys
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.envs.pictures.frame_rows import rows_of_game
from qwop.recorder.live_game import LiveGame
from qwop.recorder.page import messages


class SimpleGame:
    """QWOP, frame by frame; see `PageGame`."""

    def __init__(self, info: DatasetInfo) -> None:
        self._info, self._live = info, LiveGame()

    @property
    def over(self) -> bool:
        return self._live.over

    @property
    def played(self) -> bool:
        return self._live.played

    def first(self, number: int) -> bytes:
        return messages.frames(number, 0, rows_of_game(np.zeros(0, np.uint8)))

    def advance(self, number: int, keys: Sequence[int]) -> bytes:
        first = len(self._live.keys) + 1
        for held in keys:
            if not self.over:
                self._live.advance(held)
        return messages.frames(number, first, rows_of_game(self._live.keys)[first:])

    def result(self) -> dict[str, Any]:
        return {"outcome": self._live.outcome, "metres": self._live.metres, "seconds": self._live.seconds}

    def episode(self) -> Episode:
        return episode_from_keys([*self._live.keys], self._info, player="me", source="page", epsilon=0.05)

    def so_far(self) -> Episode | None:
        return self.episode() if self.played else None
