"""Evaluation of a policy: play many games, summarise them and keep the best."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common.settings import Settings, setting
from ..common.shared_settings import max_idle_frames, num_envs, seed
from ..envs.spec import EnvironmentSpec
from ..policies.policy import Policy
from ..policies.rollout import Game, play

CONFIDENCE = 0.95
RESAMPLES = 10_000


@dataclass(frozen=True)
class EvaluationSettings(Settings):
    """The games that a policy is judged by."""

    episodes: int = setting(100, "Games to play.", at_least=1)
    seed: int = seed("Decides the games.")
    max_idle_frames: int = max_idle_frames(30)
    greedy: bool = setting(True, "Always take the most probable action; else draw it.")
    num_envs: int = num_envs(64, "Games played side by side; the results do not depend on it.")


@dataclass(frozen=True)
class GameResult:
    """One game of an evaluation.

    metres: the game's score. seconds: from the first key to the end, at 30 frames a second. These and `idle_frames` are
    None in an environment whose games are no runs.
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


@dataclass(frozen=True)
class Evaluation:
    """The games of one policy, in order, and the best one: the fastest finish, else the farthest, else most reward."""

    environment: EnvironmentSpec
    settings: EvaluationSettings
    results: tuple[GameResult, ...]
    best: Game

    @property
    def has_metres(self) -> bool:
        """True if the games are runs, with a distance and a time."""
        return all(result.metres is not None for result in self.results)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Times of the finished games, float64 [finishes]."""
        return np.array([r.seconds for r in self.results if r.finished and r.seconds is not None], dtype=np.float64)

    def summary(self) -> dict[str, Any]:
        """The figures; each mean comes with its 95 % bootstrap interval [low, high]. Those of no game are None."""
        rewards = np.array([result.reward for result in self.results])
        figures: dict[str, Any] = {"episodes": len(self.results)}
        if self.has_metres:
            metres = np.array([result.metres for result in self.results], dtype=np.float64)
            finishes = np.array([result.finished for result in self.results], dtype=np.float64)
            figures |= {"finishes": int(finishes.sum())} | _mean("finish_share", finishes)
            figures |= {
                "best_seconds": _or_none(np.min, self.seconds),
                "median_seconds": _or_none(np.median, self.seconds),
            }
            figures |= _mean("mean_seconds", self.seconds) | _mean("mean_metres", metres)
            figures |= {"best_metres": float(metres.max())}
        figures |= {"best_return": float(rewards.max()), "median_return": float(np.median(rewards))}
        return figures | _mean("mean_return", rewards)

    def to_json(self) -> dict[str, Any]:
        """Everything but the best game itself, as plain data."""
        return {
            **self.summary(),
            "environment": self.environment.to_json(),
            "settings": asdict(self.settings),
            "best_game": self.best.index,
            "games": [asdict(result) for result in self.results],
        }


def evaluate(
    policy: Policy,
    settings: EvaluationSettings,
    environment: EnvironmentSpec | None = None,
    progress: Callable[[int], None] | None = None,
    on_game: Callable[[Game], None] = lambda game: None,
) -> Evaluation:
    """Play the games of `settings` in the policy's environment, or in another of the same shapes.

    `progress` is called with the number of games finished, `on_game` with each game, in order. Raises BadInput for an
    environment of other shapes.
    """
    spec = environment or policy.environment
    games = play(
        policy,
        episodes=settings.episodes,
        seed=settings.seed,
        greedy=settings.greedy,
        num_envs=settings.num_envs,
        max_idle_frames=settings.max_idle_frames if spec.capabilities.idle_start else 0,
        environment=spec,
        progress=progress,
    )
    results = []
    best: tuple[tuple[float, ...], Game] | None = None
    for game in games:
        result = result_of(game)
        results.append(result)
        on_game(game)
        rank = _rank(result)
        if best is None or rank > best[0]:
            best = rank, game
    assert best is not None
    return Evaluation(spec, settings, tuple(results), best[1])


def result_of(game: Game) -> GameResult:
    """Summarise a game."""

    def number(name: str) -> float | None:
        return float(game.info[name]) if name in game.info else None

    return GameResult(
        index=game.index,
        seed=game.seed,
        outcome=game.outcome,
        decisions=len(game),
        reward=float(game.rewards.sum(dtype=np.float64)),
        metres=number("score"),
        seconds=number("time"),
        idle_frames=int(game.info["idle_frames"]) if "idle_frames" in game.info else None,
    )


def bootstrap_interval(values: ArrayLike, seed: int = 0) -> tuple[float, float]:
    """95 % confidence interval of the mean: percentiles of the means of 10,000 resamples."""
    sample = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    # In blocks, so that many games do not take much memory.
    blocks = math.ceil(RESAMPLES * len(sample) / 10_000_000) or 1
    means = np.concatenate(
        [
            sample[generator.integers(0, len(sample), (part, len(sample)))].mean(axis=1)
            for part in np.full(blocks, math.ceil(RESAMPLES / blocks))
        ]
    )
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _mean(name: str, values: NDArray[np.float64]) -> dict[str, Any]:
    if not len(values):
        return {name: None, f"{name}_interval": None}
    return {name: float(values.mean()), f"{name}_interval": list(bootstrap_interval(values))}


def _or_none(statistic: Callable[[NDArray[np.float64]], Any], values: NDArray[np.float64]) -> float | None:
    return float(statistic(values)) if len(values) else None


def _rank(result: GameResult) -> tuple[float, ...]:
    """A sort key, greater for better games; of equals, the first game stands."""
    seconds = result.seconds or 0.0
    return (result.finished, -seconds if result.finished else 0.0, result.metres or 0.0, result.reward)
