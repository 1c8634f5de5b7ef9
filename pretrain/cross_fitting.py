"""Cross-fitting: re-estimate each episode's behaviour probabilities with a clone that never saw the episode."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..datasets.behaviour_probabilities import floored
from ..datasets.schema import Episode

ActionProbabilities = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""π(·|s), float32 [n, A], of observations [n, *shape]."""

Fit = Callable[[Sequence[Episode], int], ActionProbabilities]
"""Clones the player of the given episodes, for one fold; folds are numbered from 0."""


def cross_fitted(
    episodes: Sequence[Episode], fit: Fit, *, folds: int, floor: float, seed: int
) -> Iterator[tuple[int, Episode]]:
    """Yield each episode's index and the episode with μ := π̂, fold by fold.

    Episodes are dealt to `folds` folds at random. The clone that estimates the probabilities of one fold is fitted to
    all other folds, because a clone is overconfident about actions that it was trained on. No probability is below
    `floor`, which keeps importance weights finite. Raises BadInput unless there are 2 … len(episodes) folds.
    """
    if not 2 <= folds <= len(episodes):
        raise BadInput(f"folds={folds}: expected 2 to {len(episodes)}, the number of episodes")
    count = episodes[0].behaviour_probabilities.shape[1]
    if not 0 < floor < 1 / count:
        raise BadInput(f"floor={floor:g}: expected more than 0 and less than 1/{count}, as there are {count} actions")
    order = np.random.default_rng(seed).permutation(len(episodes))
    for fold in range(folds):
        held_out = set(order[fold::folds].tolist())
        clone = fit([episode for index, episode in enumerate(episodes) if index not in held_out], fold)
        for index in sorted(held_out):
            episode = episodes[index]
            probabilities = floored(clone(episode.observations[:-1]), floor)
            yield index, replace(episode, behaviour_probabilities=probabilities, probabilities_from=cloned_name(folds))


def cloned_name(folds: int) -> str:
    """Name the origin of cross-fitted probabilities, as in 'cloned(5 folds)'."""
    return f"cloned({folds} folds)"
