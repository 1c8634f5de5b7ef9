"""Result of one game of an evaluation."""

from dataclasses import dataclass

import numpy as np

from ..policies.rollout import Game


@dataclass(frozen=True)
class GameResult:
    """One game of an evaluation.

    metres: the game's score. seconds: from the first key to the end, at 30 frames a second. These and `idle_frames` are
    None in an environment whose games are not runs.
    """

    index: int
    seed: int
    outcome: str
    decisions: int
    reward: float
    metres: float | None
    seconds: float | None
    idle_frames: int | None

    @property
    def finished(self) -> bool:
        """True if the jump landed with a score of at least 100."""
        return self.outcome == "finished"


def result_of(game: Game, *, runs: bool = True) -> GameResult:
    """Summarise a game. runs: the environment declares that its games are runs; the infos of any other mean what it
    likes."""

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
    )


def rank_of(result: GameResult) -> tuple[float, ...]:
    """A sort key, greater for better games; of equals, the first game stands."""
    seconds = result.seconds or 0.0
    return (result.finished, -seconds if result.finished else 0.0, result.metres or 0.0, result.reward)
