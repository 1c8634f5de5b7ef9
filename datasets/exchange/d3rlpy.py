"""To d3rlpy: https://d3rlpy.readthedocs.io"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from ...common.errors import BadInput
from ..schema import DatasetInfo, Episode

INSTALL = "pip install 'qwop[d3rlpy]', then pip install --no-deps d3rlpy==2.8.1"

LOST = "the last observation of terminated episodes, behaviour probabilities, times, keys, who acted, and all facts"
"""Content of a dataset that d3rlpy's files do not hold."""


def to_d3rlpy(episodes: Iterable[Episode], info: DatasetInfo) -> Any:
    """Convert episodes to a `d3rlpy.dataset.MDPDataset`; BadInput if d3rlpy is not installed.

    d3rlpy stores one row per decision and no final observation. A terminated episode needs none. d3rlpy drops the last
    transition of any other, for want of its next observation, so the final observation is added as one more row, and
    the transition dropped is that row's, with the dummy action 0.
    """
    try:
        import_module("d3rlpy")
    except ImportError as error:
        raise BadInput(f"d3rlpy cannot be imported ({error}); install it with: {INSTALL}") from None
    from d3rlpy.constants import ActionSpace
    from d3rlpy.dataset import MDPDataset

    observations, actions, rewards, terminals, timeouts = [], [], [], [], []
    for episode in episodes:
        cut = 0 if episode.terminated else 1
        rows = len(episode) + cut
        last = np.arange(rows) == rows - 1
        observations.append(episode.observations[:rows])
        actions.append(np.append(episode.actions, np.zeros(cut, dtype=np.int16)))
        rewards.append(np.append(episode.rewards, np.zeros(cut, dtype=np.float32)))
        terminals.append(last & (cut == 0))
        timeouts.append(last & (cut == 1))
    return MDPDataset(
        observations=np.concatenate(observations),
        actions=np.concatenate(actions)[:, None],
        rewards=np.concatenate(rewards),
        terminals=np.concatenate(terminals).astype(np.float32),
        timeouts=np.concatenate(timeouts).astype(np.float32),
        action_space=ActionSpace.DISCRETE,
        action_size=info.actions,
    )
