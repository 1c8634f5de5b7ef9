"""Datasets for other libraries."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...common.errors import BadInput
from ..schema import DatasetInfo, Episode


def to_d3rlpy(episodes: Iterable[Episode], info: DatasetInfo) -> Any:
    """The episodes as a `d3rlpy.dataset.MDPDataset`; BadInput where d3rlpy is not installed.

    d3rlpy keeps one row a decision and no final observation. It needs none where the episode terminated; elsewhere it
    drops the last transition for want of its next observation, so the final observation goes in as one more row, whose
    own action (0) is what gets dropped.
    """
    try:
        from d3rlpy.constants import ActionSpace
        from d3rlpy.dataset import MDPDataset
    except ImportError as error:
        raise BadInput(
            f"d3rlpy cannot be imported ({error}); install it with: pip install 'qwop[d3rlpy]', then "
            "pip install --no-deps d3rlpy==2.8.1"
        ) from None
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
