"""What a clone is worth where it counts: games of its own."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..policies.policy import Policy
from ..policies.rollout import play


@dataclass(frozen=True)
class Games:
    """count: games played. mean_return: of rewards. metres: mean and best score, finishes: games that ended so; None
    where the environment does not tell them."""

    count: int
    greedy: bool
    mean_return: float
    mean_metres: float | None
    best_metres: float | None
    finishes: int | None


def play_games(
    policy: Policy, *, count: int, greedy: bool, seed: int, max_idle_frames: int, progress: Callable[[int], None]
) -> Games:
    """Play `count` games of `seed` in the policy's environment; `progress` hears how many have ended."""
    idle = max_idle_frames if policy.environment.capabilities.idle_start else 0
    games = list(play(policy, episodes=count, seed=seed, greedy=greedy, max_idle_frames=idle, progress=progress))
    metres = [float(game.info["score"]) for game in games if "score" in game.info]
    return Games(
        count=count,
        greedy=greedy,
        mean_return=float(np.mean([game.rewards.sum(dtype=np.float64) for game in games])),
        mean_metres=float(np.mean(metres)) if metres else None,
        best_metres=max(metres) if metres else None,
        finishes=sum(game.outcome == "finished" for game in games) if metres else None,
    )
