"""Baselines for a clone: predictors that ignore the observation, fitted to the same training rows.

Laplace's rule of succession (each count plus one) keeps every probability above 0, so that both have a finite
likelihood.
"""

import numpy as np
from numpy.typing import NDArray

from .rows import NONE, Rows


def majority(train: Rows, rows: Rows, actions: int) -> NDArray[np.float64]:
    """Probabilities [N, A], for every row the frequency of each action in `train`: (n_a + 1) / (n + A)."""
    return np.tile(_frequencies(train, actions), (len(rows), 1))


def repeat_last(train: Rows, rows: Rows, actions: int) -> NDArray[np.float64]:
    """Probabilities [N, A]: the previous action with the frequency r of repeats in `train`, (repeats + 1) / (n + 2).

    The other actions share 1 − r in proportion to their frequencies. First decisions get `majority`.
    """
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
