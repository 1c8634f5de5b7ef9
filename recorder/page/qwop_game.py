"""A game of QWOP on the page, which draws it from rows of numbers."""

from collections.abc import Sequence
from typing import Any

from ...datasets.from_keys import episode_from_keys
from ...datasets.schema import DatasetInfo, Episode
from ..live_game import LiveGame
from . import messages
from .rows import advanced, row_of


class QwopGame:
    """Plays a game of QWOP; see `PageGame`. info: the dataset that the episode is made for."""

    def __init__(self, info: DatasetInfo, player: str, epsilon: float) -> None:
        self._info, self._player, self._epsilon = info, player, epsilon
        self._live = LiveGame()

    @property
    def over(self) -> bool:
        return self._live.over

    @property
    def played(self) -> bool:
        return self._live.played

    def first(self, number: int) -> bytes:
        return messages.frames(number, 0, row_of(self._live)[None])

    def advance(self, number: int, keys: Sequence[int]) -> bytes:
        first = len(self._live.keys) + 1
        return messages.frames(number, first, advanced(self._live, keys))

    def result(self) -> dict[str, Any]:
        return {"outcome": self._live.outcome, "metres": self._live.metres, "seconds": self._live.seconds}

    def episode(self) -> Episode:
        return episode_from_keys(self._live.keys, self._info, player=self._player, source="page", epsilon=self._epsilon)
