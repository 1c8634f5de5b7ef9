"""Quality of predicted probabilities: accuracy, likelihood, calibration."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

BINS = 15
"""Number of bins, of equal width (Guo et al. 2017)."""

LEAST = 1e-30
"""Lower bound of probabilities: float32 ones can be 0, and such a decision costs 69 nats instead of infinitely many."""


@dataclass(frozen=True)
class Bin:
    """The decisions whose most probable action had a probability in (low, high].

    count: of decisions. confidence: mean of that probability. accuracy: fraction in which that action was taken.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Measures:
    """Measures of predictions.

    rows: number of decisions. accuracy: fraction in which the most probable action was taken. nats: mean −ln p of the
    action taken. calibration_error: expected calibration error. reliability: its bins without the empty ones.
    """

    rows: int
    accuracy: float
    nats: float
    calibration_error: float
    reliability: tuple[Bin, ...]


def measure(probabilities: ArrayLike, actions: ArrayLike) -> Measures:
    """Measure `probabilities` [N, A] against the actions taken, int [N]."""
    p, a = np.asarray(probabilities, dtype=np.float64), np.asarray(actions)
    correct = p.argmax(axis=1) == a
    bins = reliability(p.max(axis=1), correct)
    return Measures(
        rows=len(a),
        accuracy=float(correct.mean()),
        nats=float(-np.log(np.maximum(p[np.arange(len(a)), a], LEAST)).mean()),
        calibration_error=expected_calibration_error(bins),
        reliability=bins,
    )


def expected_nats(probabilities: ArrayLike, played: ArrayLike) -> float:
    """mean_i −Σ_a μ(a|s_i) ln p(a|s_i): the `nats` of actions drawn from `played` μ [N, A], in expectation."""
    p, mu = np.asarray(probabilities, dtype=np.float64), np.asarray(played, dtype=np.float64)
    return float(-(mu * np.log(np.maximum(p, LEAST))).sum(axis=1).mean())


def reliability(confidences: ArrayLike, correct: ArrayLike) -> tuple[Bin, ...]:
    """Bins of the reliability diagram, from confidences [N] and the correctness of the predictions, bool [N]."""
    confidence, right = np.asarray(confidences, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    edges = np.linspace(0, 1, BINS + 1)
    which = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, BINS - 1)
    bins = []
    for index in range(BINS):
        inside = which == index
        if inside.any():
            means = float(confidence[inside].mean()), float(right[inside].mean())
            bins.append(Bin(float(edges[index]), float(edges[index + 1]), int(inside.sum()), *means))
    return tuple(bins)


def expected_calibration_error(bins: tuple[Bin, ...]) -> float:
    """ECE = Σ_b (n_b / N) |accuracy_b − confidence_b| (Guo et al. 2017, equation 3)."""
    total = sum(bin_.count for bin_ in bins)
    return sum(bin_.count / total * abs(bin_.accuracy - bin_.confidence) for bin_ in bins)
