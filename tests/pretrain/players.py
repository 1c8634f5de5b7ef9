"""Episodes of players who can be cloned."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from qwop.datasets import Episode
from qwop.datasets.behaviour_probabilities import smoothed


def shown(observations: NDArray[Any], actions: NDArray[np.int16], source: str) -> Episode:
    """An episode of a player of two actions with a reward of 1 for each; observations have one row more."""
    return Episode(
        observations=observations,
        actions=actions,
        behaviour_probabilities=smoothed(actions, 2, 0.05),
        rewards=np.ones(len(actions), dtype=np.float32),
        times=np.arange(len(actions) + 1.0),
        keys=None,
        terminated=True,
        truncated=False,
        outcome="terminated",
        player="a player",
        source=source,
        mu_kind="smoothed",
        mu_epsilon=0.05,
    )
