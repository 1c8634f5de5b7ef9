"""Behaviour probabilities re-estimated by cloning: of every episode, by a clone that never saw it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput
from .behaviour_probabilities import floored
from .schema import Episode

Probabilities = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""π(·|s), float32 [n, A], of observations float32 [n, *shape]."""

Fit = Callable[[Sequence[Episode], int], Probabilities]
"""Clones the player of some episodes, for one fold; the folds are numbered from 0."""


def cross_fitted(
    episodes: Sequence[Episode], fit: Fit, *, folds: int, floor: float, seed: int
) -> Iterator[tuple[int, Episode]]:
    """Every episode with μ := π̂, and its index; fold by fold.

    The episodes are dealt at random to `folds` folds, and those of one get the probabilities of a clone fitted to all
    the others: a clone that had seen an episode would be too sure of the actions in it. Each probability is at least
    `floor`, so that importance weights stay finite. BadInput unless there are 2 … len(episodes) folds.
    """
    if not 2 <= folds <= len(episodes):
        raise BadInput(f"folds={folds}: expected 2 to {len(episodes)}, the number of episodes")
    count = episodes[0].behaviour_probabilities.shape[1]
    if not 0 < floor < 1 / count:
        raise BadInput(f"floor={floor:g}: expected more than 0 and less than 1/{count}, as there are {count} actions")
    order = np.random.default_rng(seed).permutation(len(episodes))
    for fold in range(folds):
        inside = set(order[fold::folds].tolist())
        clone = fit([episode for index, episode in enumerate(episodes) if index not in inside], fold)
        for index in sorted(inside):
            episode = episodes[index]
            probabilities = floored(clone(episode.observations[:-1]), floor)
            yield index, replace(episode, behaviour_probabilities=probabilities, probabilities_from=cloned_name(folds))


def cloned_name(folds: int) -> str:
    """What `probabilities_from` says then: 'cloned(5 folds)'."""
    return f"cloned({folds} folds)"
