"""Replay of given keys, in the simulator or in the original page, and the agreement of the two."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..envs.engine.interface import TRIGONOMETRIES
from ..envs.names import SCORE
from ..envs.original.page import OriginalPage, PageSettings
from ..envs.pictures.video import seconds_from_first_key
from ..envs.qwop.observations import observe_as
from ..envs.qwop.session import Replay, replay
from ..envs.qwop.task import outcome_of
from ..policies.rollout import Game

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


@dataclass(frozen=True)
class Agreement:
    """A game of a policy in the original, with keys, and the simulator's replay of these.

    largest_difference: of any number between the last observations (units, radians).
    """

    game: Game
    simulator: KeysGame
    largest_difference: float

    @property
    def agrees(self) -> bool:
        """True for the same frames, outcome and score, and the runner in the same place to the last bit."""
        both = self.to_json()
        return self.largest_difference == 0.0 and all(
            both[name] == both[f"simulator_{name}"] for name in ("frames", "outcome", "metres")
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data of both; trigonometry: the library by which the replay calculates."""
        game, here = self.game, self.simulator
        return {
            "index": game.index, "frames": sum(map(len, game.keys or ())), "outcome": game.outcome,
            "metres": float(game.info["score"]), "simulator_frames": here.frames, "simulator_outcome": here.outcome,
            "simulator_metres": here.metres, "largest_difference": self.largest_difference,
            "trigonometry": here.trigonometry,
        }  # fmt: skip


def compare(game: Game, task: Mapping[str, Any]) -> Agreement:
    """Play the keys of a game of the original in the simulator. `task`: the settings of the game's environment.

    Browsers differ in sine and cosine. The replay is the one that agrees with the game, or else the first library's.
    """
    assert game.keys is not None
    keys, kind = np.concatenate(game.keys), str(task.get("observation", "features"))

    def by(trigonometry: str) -> Agreement:
        here = in_simulator(keys, trigonometry)
        replay = here.replay
        assert replay.hidden is not None
        row = max(here.frames - int(task.get("observation_lag", 0)), 0)
        observation = observe_as(kind, replay.states[row], replay.events[row], replay.hidden[row])
        return Agreement(game, here, float(np.abs(observation - game.observations[-1]).max()))

    return first_that(map(by, TRIGONOMETRIES), lambda agreement: agreement.agrees)


def agreement_in_words(games: Sequence[Agreement]) -> str:
    """The number of games that are the same in the simulator, and the library of sine and cosine of each."""
    same = [game.simulator.trigonometry for game in games if game.agrees]
    sentence = f"same in the simulator, by their keys: {len(same)} of {len(games)}"
    others = [f"{same.count(name)} by {name}'s sine and cosine" for name in TRIGONOMETRIES[1:] if name in same]
    return sentence + "".join(f", {one}" for one in others)
