"""Measures of predicted probabilities, and of clones on held-out episodes beside baselines without observations.

Baselines are fitted to the same training rows. Laplace's rule of succession (each count plus one) keeps every
probability above 0, so that both have a finite likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..datasets.schema import Episode
from ..policies.policy import Policy
from .rows import NONE, Rows, rows_of, some

BINS = 15
"""Number of bins, of equal width (Guo et al. 2017)."""

LEAST = 1e-30
"""Lower bound of probabilities: float32 ones can be 0, and such a decision costs 69 nats instead of infinitely many."""


@dataclass(frozen=True)
class Measures:
    """Measures of predictions.

    rows: number of decisions. accuracy: fraction in which the most probable action was taken. nats: mean −ln p of the
    action taken. calibration_error: the expected one, Σ_b (n_b / N) |accuracy_b − confidence_b| over bins b of the most
    probable action's probability (Guo et al. 2017, equation 3).
    """

    rows: int
    accuracy: float
    nats: float
    calibration_error: float


def measure(probabilities: ArrayLike, actions: ArrayLike) -> Measures:
    """Measure `probabilities` [N, A] against the actions taken, int [N]."""
    p, a = np.asarray(probabilities, dtype=np.float64), np.asarray(actions)
    correct, confidence = p.argmax(axis=1) == a, p.max(axis=1)
    bins = np.clip(np.searchsorted(np.linspace(0, 1, BINS + 1), confidence, side="left") - 1, 0, BINS - 1)
    gaps = np.abs(np.bincount(bins, weights=correct - confidence, minlength=BINS))
    return Measures(
        rows=len(a),
        accuracy=float(correct.mean()),
        nats=float(-np.log(np.maximum(p[np.arange(len(a)), a], LEAST)).mean()),
        calibration_error=float(gaps.sum() / len(a)),
    )


def expected_nats(probabilities: ArrayLike, mu: ArrayLike) -> float:
    """mean_i −Σ_a μ(a|s_i) ln p(a|s_i): the `nats` of actions drawn from μ [N, A], in expectation."""
    p = np.asarray(probabilities, dtype=np.float64)
    return float(-(np.asarray(mu, dtype=np.float64) * np.log(np.maximum(p, LEAST))).sum(axis=1).mean())


def majority(train: Rows, rows: Rows, actions: int) -> NDArray[np.float64]:
    """Probabilities [N, A], for every row the frequency of each action in `train`: (n_a + 1) / (n + A)."""
    return np.tile(_frequencies(train, actions), (len(rows), 1))


def repeat_last(train: Rows, rows: Rows, actions: int) -> NDArray[np.float64]:
    """Probabilities [N, A]: the previous action with the frequency r of repeats in `train`, (repeats + 1) / (n + 2).

    The other actions share 1 − r in proportion to their frequencies. First decisions get `majority`.
    """
    if actions == 1:
        return np.ones((len(rows), 1))
    frequencies = _frequencies(train, actions)
    followers = train.previous != NONE
    repeats = (train.actions == train.previous)[followers].sum()
    r = (repeats + 1) / (followers.sum() + 2)
    table = (1 - r) * frequencies[None, :] / (1 - frequencies[:, None])
    np.fill_diagonal(table, r)
    probabilities = np.tile(frequencies, (len(rows), 1))
    after = rows.previous != NONE
    probabilities[after] = table[rows.previous[after]]
    return probabilities


def _frequencies(train: Rows, actions: int) -> NDArray[np.float64]:
    counts = np.bincount(train.actions, minlength=actions) + 1.0
    frequencies: NDArray[np.float64] = counts / counts.sum()
    return frequencies


CLONE, REPEAT_LAST, MAJORITY = "clone", "repeat the last action", "majority"


@dataclass(frozen=True)
class HeldOut:
    """One split: the numbers of the episodes held out, and the measures on them by predictor.

    learned: the clone was trained on them, too, because there are no others.
    """

    episodes: tuple[int, ...]
    measures: dict[str, Measures]
    learned: bool = False


def measure_held_out(policy: Policy, episodes: Sequence[Episode], train: list[int], held_out: list[int]) -> HeldOut:
    """Measure the clone of the episodes `train`, and the baselines fitted to them, on the episodes `held_out`."""
    fitted, rows = rows_of(some(episodes, train), observations=False), rows_of(some(episodes, held_out))
    probabilities: dict[str, NDArray[np.float32 | np.float64]] = {
        CLONE: policy.probabilities(rows.observations.reshape(len(rows), *policy.observation.shape)),
        REPEAT_LAST: repeat_last(fitted, rows, policy.actions),
        MAJORITY: majority(fitted, rows, policy.actions),
    }
    measures = {name: measure(p, rows.actions) for name, p in probabilities.items()}
    return HeldOut(tuple(held_out), measures, learned=train == held_out)
