"""Result of one game of an evaluation, and the times along its run: seconds to given distances, the fastest second."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..envs.names import BODIES, FRAMES_A_SECOND, SCORE, UNITS_A_METRE
from ..envs.pictures.video import seconds_from_first_key
from ..envs.qwop.session import replay
from ..policies.rollout import Game

MARKS = (10, 25, 50, 75)
"""Metres."""

_TORSO = BODIES.index("torso")


@dataclass(frozen=True)
class Splits:
    """Times along one run.

    seconds: from the first key to each of `MARKS`, None beyond the end of the run. top_speed: metres per second, over
    the fastest second; None for a shorter run.
    """

    seconds: tuple[float | None, ...]
    top_speed: float | None


def splits_of(keys: NDArray[np.uint8]) -> Splits:
    """Play these keys, uint8 [n], of every frame of a game again and take its times, to the frame."""
    game = replay(keys)
    return splits_along(game.events[1:, SCORE], game.states[1:, _TORSO, 0] / UNITS_A_METRE, keys)


def splits_along(score: NDArray[np.float64], metres: NDArray[np.float64], keys: NDArray[np.uint8]) -> Splits:
    """Take the times of a run by its score and its exact distance after every frame, metres float64 [frames]."""
    clock = seconds_from_first_key(keys)[1:]
    passed = [np.flatnonzero(score >= mark) for mark in MARKS]
    seconds = tuple(float(clock[frames[0]]) if len(frames) else None for frames in passed)
    gained = metres[FRAMES_A_SECOND:] - metres[:-FRAMES_A_SECOND]
    return Splits(seconds, float(gained.max()) if len(gained) else None)


@dataclass(frozen=True)
class GameResult:
    """One game of an evaluation.

    metres: the game's score. seconds: from the first key to the end, at 30 frames a second. These and `idle_frames` are
    None in an environment whose games are not runs; `splits` is None unless requested for a game with keys.
    """

    index: int
    seed: int
    outcome: str
    decisions: int
    reward: float
    metres: float | None
    seconds: float | None
    idle_frames: int | None
    splits: Splits | None = None

    @property
    def finished(self) -> bool:
        """True if the jump landed with a score of at least 100."""
        return self.outcome == "finished"


def result_of(game: Game, splits: bool = False, *, runs: bool = True) -> GameResult:
    """Summarise a game. splits: take its times along the run, for which it is played again. runs: the environment
    declares that its games are runs; the infos of any other mean what it likes."""

    def number(name: str) -> float | None:
        return float(game.info[name]) if runs and name in game.info else None

    return GameResult(
        index=game.index,
        seed=game.seed,
        outcome=game.outcome,
        decisions=len(game),
        reward=float(game.rewards.sum(dtype=np.float64)),
        metres=number("score"),
        seconds=number("time"),
        idle_frames=int(game.info["idle_frames"]) if runs and "idle_frames" in game.info else None,
        splits=splits_of(np.concatenate(game.keys)) if splits and game.keys is not None else None,
    )


def rank_of(result: GameResult) -> tuple[float, ...]:
    """A sort key, greater for better games; of equals, the first game stands."""
    seconds = result.seconds or 0.0
    return (result.finished, -seconds if result.finished else 0.0, result.metres or 0.0, result.reward)
