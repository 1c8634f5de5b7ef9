"""Results of games, and statistics of many: shares, times, distances and returns, with intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


CONFIDENCE = 0.95
RESAMPLES = 10_000
QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def figures_of(results: Sequence[GameResult], same: Sequence[object] | None) -> dict[str, Any]:
    """Statistics of some games, None where no game provides them.

    With `same`, each mean has a 95 % interval [low, high]: that of a bootstrap, and Wilson's for the share of finishes.
    `same` labels each result; games with equal labels, which cannot differ, are resampled together.
    """
    rewards = np.array([result.reward for result in results])
    figures: dict[str, Any] = {"episodes": len(results)}
    if all(result.metres is not None for result in results):
        metres = np.array([result.metres for result in results], dtype=np.float64)
        finished = np.array([result.finished for result in results], dtype=np.bool_)
        seconds = np.array([result.seconds for result in results if result.finished], dtype=np.float64)
        finishers = None if same is None else [same[place] for place in np.flatnonzero(finished).tolist()]
        figures |= {"finishes": int(finished.sum())} | _mean("finish_share", finished, same, wilson_interval)
        figures |= {"best_seconds": _or_none(np.min, seconds), "median_seconds": _or_none(np.median, seconds)}
        figures |= _mean("mean_seconds", seconds, finishers) | _mean("mean_metres", metres, same)
        figures |= {"best_metres": _or_none(np.max, metres)}
    figures |= {"best_return": _or_none(np.max, rewards), "median_return": _or_none(np.median, rewards)}
    return figures | _mean("mean_return", rewards, same)


def bootstrap_interval(values: ArrayLike, games: Sequence[object] = ()) -> tuple[float, float]:
    """95 % confidence interval of the mean: percentiles of the means of 10,000 resamples.

    Values of the same game (`games`: anything comparable, one for each value; default: all different) are drawn
    together.
    """
    sample = np.asarray(values, dtype=np.float64)
    _, place = np.unique(np.asarray(games if len(games) else range(len(sample))), return_inverse=True)
    sums, sizes = np.bincount(place, weights=sample), np.bincount(place)
    generator = np.random.default_rng(0)
    # In blocks, to limit memory with many games.
    blocks = math.ceil(RESAMPLES * len(sums) / 10_000_000) or 1
    means = []
    for part in np.full(blocks, math.ceil(RESAMPLES / blocks)):
        resample = generator.integers(0, len(sums), (part, len(sums)))
        means.append(sums[resample].sum(axis=1) / sizes[resample].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def wilson_interval(values: ArrayLike, games: Sequence[object] = ()) -> tuple[float, float]:
    """95 % confidence interval of a share, the mean of truth values (Wilson 1927). A bootstrap has no width where all
    values are equal, as with 100 finishes of 100.

    Values of the same game (`games`, as above) count as fewer: n = (Σ mᵢ)² / Σ mᵢ² for mᵢ values of game i (Kish 1965).
    """
    sample = np.asarray(values, dtype=np.float64)
    _, sizes = np.unique(np.asarray(games if len(games) else range(len(sample))), return_counts=True)
    n, p = float(sizes.sum()) ** 2 / float(np.square(sizes).sum()), float(sample.mean())
    centre = (p + QUANTILE**2 / (2 * n)) / (1 + QUANTILE**2 / n)
    half = QUANTILE * math.sqrt(p * (1 - p) / n + QUANTILE**2 / (4 * n**2)) / (1 + QUANTILE**2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def _mean(
    name: str,
    values: NDArray[np.float64 | np.bool_],
    same: Sequence[object] | None,
    interval: Callable[[ArrayLike, Sequence[object]], tuple[float, float]] = bootstrap_interval,
) -> dict[str, Any]:
    mean = {name: float(values.mean()) if len(values) else None}
    if same is None:
        return mean
    return mean | {f"{name}_interval": list(interval(values, same)) if len(values) else None}


def _or_none(statistic: Callable[[NDArray[np.float64]], Any], values: NDArray[np.float64]) -> float | None:
    return float(statistic(values)) if len(values) else None
