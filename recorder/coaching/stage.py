"""The interface between a coached game and the environment that it is played in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...datasets.origin import Origin
from ...datasets.schema import Episode


@dataclass(frozen=True)
class Decision:
    """A decision of either side: its first frame, who acted, the action and the probabilities that it was drawn with
    (a policy's; None for a person's, whose action follows from the keys), and the policy's own probabilities."""

    frame: int
    actor: int
    action: int | None
    drawn_with: NDArray[np.float32] | None
    asked: NDArray[np.float32]


@dataclass(frozen=True)
class Facts:
    """Facts of an episode that its stage does not know; see `Episode`. epsilon: smoothing of a person's μ."""

    player: str
    source: str
    origin: Origin
    epsilon: float


class Stage(Protocol):
    """A game that is played frame by frame, and that can go back.

    frames_per_step: frames of a decision. fps: frames a second. frame: number of frames played, beginning with 0.
    over: true once the game has ended.
    """

    frames_per_step: int
    fps: float

    @property
    def frame(self) -> int: ...

    @property
    def over(self) -> bool: ...

    def observe(self) -> NDArray[Any]:
        """The observation that the next decision is made by; called once for each decision."""
        ...

    def play(self, held: int, action: int | None) -> None:
        """Play a frame: the policy's action or, without one, what the person's keys (bits) do. Plays nothing where they
        mean no action."""
        ...

    def chosen(self, first: int) -> tuple[int, float]:
        """The action and the reward of a person's decision that began with frame `first` and has just ended."""
        ...

    def mark(self) -> Any:
        """The current state, for `go_back`."""
        ...

    def go_back(self, mark: Any) -> None:
        """Return to a marked state, exactly; BadInput if the environment cannot."""
        ...

    def result(self) -> dict[str, Any]:
        """The end of the game, as the page shows it."""
        ...

    def episode(self, decisions: Sequence[Decision], facts: Facts) -> Episode:
        """The game so far as an episode, without who acted in it."""
        ...

    def shown(self) -> Any:
        """The present frame, for `message`."""
        ...

    def message(self, number: int, first: int, frames: Sequence[Any]) -> bytes:
        """Encode frames for the page, which numbers the game; first: the index of the first of them."""
        ...
