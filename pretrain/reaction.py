"""A person's reaction time: an action answers what was seen some decisions before it."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ..datasets.behaviour_probabilities import RECORDED
from ..datasets.control import corrected
from ..datasets.schema import Episode
from ..envs.spec import Observations

LONGEST_SECONDS = 0.5
"""Longest reaction time that is looked for."""

LEAST = 1e-4
"""Probability that an action has at least, so that a few odd ones do not decide."""


def of_person(episode: Episode) -> NDArray[np.bool_]:
    """The decisions that a person made and that are to be learned, bool [T]."""
    if episode.actors is None and episode.mu_kind == RECORDED:
        return np.zeros(len(episode), dtype=np.bool_)
    mine = corrected(episode)
    mine[: episode.first_own] = False
    return mine


def reaction(
    episodes: Iterable[Episode], probabilities: Callable[[Observations], NDArray[np.float32]], longest: int
) -> int:
    """The number of decisions, 0 to `longest`, by which the person is late: that with the greatest likelihood

        Σ_t ln π(a_t | s_{t − lag})

    of the person's actions under a policy π, which plays the same game without being late. 0 without a person, and for
    a policy that explains the actions worse than chance at every lag: it plays another way, and knows nothing of them.
    """
    nats = np.zeros(longest + 1)
    chance = 0.0
    for episode in episodes:
        rows = np.flatnonzero(of_person(episode))
        rows = rows[rows >= longest]  # the same actions for every lag
        if not len(rows):
            continue
        for lag in range(longest + 1):
            likelihoods = probabilities(episode.observations[rows - lag])[np.arange(len(rows)), episode.actions[rows]]
            nats[lag] += np.log(np.maximum(likelihoods, LEAST), dtype=np.float64).sum()
        chance -= len(rows) * float(np.log(episode.behaviour_probabilities.shape[1]))
    return int(nats.argmax()) if nats.max() > chance else 0
