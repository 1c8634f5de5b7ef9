"""Episodes of players who can be cloned."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from qwop.datasets import Episode
from qwop.datasets.behaviour_probabilities import smoothed


def shown(observations: NDArray[Any], actions: NDArray[np.int16], count: int = 2, **more: Any) -> Episode:
    """An episode of a person with `count` actions and a reward of 1 for each; observations have one row more."""
    fields: dict[str, Any] = {"source": "a game", "mu_kind": "smoothed", "mu_epsilon": 0.05, **more}
    return Episode(
        observations=observations,
        actions=actions,
        behaviour_probabilities=smoothed(actions, count, 0.05),
        rewards=np.ones(len(actions), dtype=np.float32),
        times=np.arange(len(actions) + 1.0),
        keys=None,
        terminated=True,
        truncated=False,
        outcome="terminated",
        player="a player",
        **fields,
    )
