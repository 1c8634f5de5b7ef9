"""The interface between the page's server and the game that is played on it."""

from collections.abc import Sequence
from typing import Any, Protocol

from ...datasets.schema import Episode


class PageGame(Protocol):
    """One game that a person plays on the page, a frame at a time.

    over: true once it has ended by itself. played: true once a key was pressed; other games are not recorded.
    """

    @property
    def over(self) -> bool: ...

    @property
    def played(self) -> bool: ...

    def first(self, number: int) -> bytes:
        """Encode the start of this game, which the page numbers, as a message to the page."""
        ...

    def advance(self, number: int, keys: Sequence[int]) -> bytes:
        """Play a frame with each of these sets of keys until the game is over; encode the frames."""
        ...

    def result(self) -> dict[str, Any]:
        """The end of the game, as the page shows it."""
        ...

    def episode(self) -> Episode:
        """The game as far as it was played."""
        ...
