"""Statistics of figures with one value a seed (Agarwal et al. 2021: Deep Reinforcement Learning at the Edge of the
Statistical Precipice).

Intervals are 95 % percentile bootstraps that resample seeds. Games are not resampled: those of one run share a policy.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..evaluation.figures import CONFIDENCE, RESAMPLES, bootstrap_interval

Estimate = tuple[float, float | None, float | None]
"""A statistic, and the ends of its interval; None for a single seed, which has none."""

COVERAGE = {2: 50, 3: 75, 5: 85, 10: 90, 20: 92}
"""Per cent of percentile intervals of a mean that hold the true one, by the number of normally distributed values."""


def mean(values: Sequence[float]) -> Estimate:
    """The mean over seeds."""
    return float(np.mean(values)), *(bootstrap_interval(values) if len(values) > 1 else (None, None))


def interquartile_mean(values: Sequence[float]) -> Estimate:
    """The mean without the lowest and the highest quarter of the seeds, ⌊n/4⌋ at each end: the mean below four."""
    quarter = len(values) // 4
    return _estimate(lambda x: np.sort(x, axis=-1)[..., quarter : len(values) - quarter].mean(axis=-1), values)


def difference(row: Mapping[int, float], other: Mapping[int, float]) -> tuple[bool, Estimate]:
    """The row's mean minus the other's, values by seed, and whether the seeds are paired.

    Two or more equal seeds are paired: the mean is that of their differences. Otherwise all seeds of both rows count,
    and are resampled independently.
    """
    if len(shared := sorted(row.keys() & other.keys())) > 1:
        return True, mean([row[seed] - other[seed] for seed in shared])
    return False, _estimate(lambda x, y: x.mean(axis=-1) - y.mean(axis=-1), [*row.values()], [*other.values()])


def improvement(values: Sequence[float], others: Sequence[float]) -> Estimate:
    """Probability that a value is larger than one of the others; a tie counts half."""

    def share(x: Any, y: Any) -> Any:
        return (np.sign(x[..., :, None] - y[..., None, :]).mean(axis=(-2, -1)) + 1) / 2

    return _estimate(share, values, others)


def mean_curve(curves: Sequence[Sequence[tuple[float, float]]], points: int = 60) -> list[tuple[float, ...]]:
    """Mean over seeds of curves (x, y), interpolated at places that all of them reach: [(x, mean, low, high)].

    The ends of the interval are the mean itself for one seed.
    """
    first, last = max(curve[0][0] for curve in curves), min(curve[-1][0] for curve in curves)
    places = np.linspace(first, last, points) if last > first else np.array([last])
    every = np.array([np.interp(places, *np.transpose(curve)) for curve in curves])
    draws = np.random.default_rng(0).integers(0, len(curves), (RESAMPLES, len(curves)))
    shares = np.stack([(draws == seed).mean(axis=1) for seed in range(len(curves))], axis=1)
    return list(map(tuple, np.stack([places, every.mean(axis=0), *_ends(shares @ every)], axis=1).tolist()))


def _estimate(statistic: Callable[..., Any], *samples: Sequence[float]) -> Estimate:
    """A statistic of samples, each [..., seeds], with its interval."""
    every = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if min(map(len, every)) < 2:
        return float(statistic(*every)), None, None
    generator, values = np.random.default_rng(0), []
    for _ in range(RESAMPLES // 100):  # in blocks, to limit memory with many seeds
        values.append(statistic(*(one[generator.integers(0, len(one), (100, len(one)))] for one in every)))
    low, high = _ends(np.concatenate(values))
    return float(statistic(*every)), float(low), float(high)


def _ends(values: Any) -> Any:
    return np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
