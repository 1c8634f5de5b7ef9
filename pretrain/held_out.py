"""Measures of clones on held-out episodes, compared with baselines that ignore the observation.

Baselines are fitted to the same training rows. Laplace's rule of succession (each count plus one) keeps every
probability above 0, so that both have a finite likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..datasets.schema import Episode
from ..policies.policy import Policy
from .clone import chosen
from .measures import Measures, measure
from .rows import NONE, Rows, rows_of


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
    fitted, rows = rows_of(chosen(episodes, train), observations=False), rows_of(chosen(episodes, held_out))
    probabilities: dict[str, NDArray[np.float32 | np.float64]] = {
        CLONE: policy.probabilities(rows.observations.reshape(len(rows), *policy.observation.shape)),
        REPEAT_LAST: repeat_last(fitted, rows, policy.actions),
        MAJORITY: majority(fitted, rows, policy.actions),
    }
    measures = {name: measure(p, rows.actions) for name, p in probabilities.items()}
    return HeldOut(tuple(held_out), measures, learned=train == held_out)
