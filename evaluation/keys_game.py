"""Replay of given keys, in the simulator or in the original page."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..envs.engine.interface import TRIGONOMETRIES
from ..envs.names import SCORE
from ..envs.original.page import OriginalPage, PageSettings
from ..envs.pictures.video import seconds_from_first_key
from ..envs.qwop.replay import Replay, replay
from ..envs.qwop.task import outcome_of

T = TypeVar("T")


@dataclass(frozen=True)
class KeysGame:
    """A game of given keys: `keys` uint8 [n] of the n frames that were played, and the replay of these.

    trigonometry: the library of `TRIGONOMETRIES` by which the simulator played it.
    """

    keys: NDArray[np.uint8]
    replay: Replay
    trigonometry: str = TRIGONOMETRIES[0]

    @property
    def frames(self) -> int:
        return len(self.keys)

    @property
    def outcome(self) -> str:
        """finished, fell, or stopped if the keys ended before the game did."""
        outcome = outcome_of(self.replay.events[-1])
        return "stopped" if outcome == "running" else outcome

    @property
    def metres(self) -> float:
        """The game's score."""
        return float(self.replay.events[-1, SCORE])

    @property
    def seconds(self) -> float:
        """Time from the first key to the end."""
        return float(seconds_from_first_key(self.keys)[-1])

    def to_json(self) -> dict[str, object]:
        return {
            "outcome": self.outcome, "metres": self.metres, "seconds": self.seconds, "frames": self.frames,
            "sha256": self.replay.sha256,
        }  # fmt: skip

    def same_as(self, other: "KeysGame") -> bool:
        """True if every body was in the same place, to the last bit, in every frame."""
        mine, theirs = self.replay, other.replay
        return np.array_equal(mine.states, theirs.states) and np.array_equal(mine.events, theirs.events)


def in_simulator(keys: NDArray[np.uint8], trigonometry: str = TRIGONOMETRIES[0]) -> KeysGame:
    """Play the keys until they or the game end, by this library of sine and cosine."""
    return replace(_game(keys, replay(keys, trigonometry=trigonometry)), trigonometry=trigonometry)


def most_alike(game: KeysGame, keys: NDArray[np.uint8]) -> KeysGame:
    """Play the keys of a game of the original in the simulator, by the library with which it is the same; by the
    first if there is none."""
    return first_that((in_simulator(keys, name) for name in TRIGONOMETRIES), game.same_as)


def first_that(candidates: Iterator[T], agrees: Callable[[T], bool]) -> T:
    """Return the first candidate that agrees, else the very first. Later ones are not computed."""
    first = next(candidates)
    return first if agrees(first) else next(filter(agrees, candidates), first)


def in_original(keys: NDArray[np.uint8], page: PageSettings) -> KeysGame:
    """Play the keys in the original page. Raises BadInput if the page cannot be opened."""
    with OriginalPage(page) as original:
        start, rest = original.new_game(), original.play(keys)
    states, events = (np.concatenate([getattr(start, name), getattr(rest, name)]) for name in ("states", "events"))
    return _game(keys, Replay(states, events))


def _game(keys: NDArray[np.uint8], result: Replay) -> KeysGame:
    return KeysGame(keys[: len(result.states) - 1], result)
