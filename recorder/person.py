"""Conversion of a person's game, given as the keys of every frame, to an episode."""

import numpy as np
from numpy.typing import NDArray

from ..datasets.from_keys import decision_action, effective_action, episode_from_keys, qwop_info
from ..datasets.schema import DatasetInfo, Episode
from ..envs.qwop.session import Replay

__all__ = ["decision_action", "effective_action", "episode_of", "person_info"]


def person_info(frames_per_step: int, reward: str, observation_lag: int) -> DatasetInfo:
    """Description of a dataset of games that a person plays."""
    return qwop_info(frames_per_step=frames_per_step, reward=reward, observation_lag=observation_lag)


def episode_of(
    keys: NDArray[np.uint8],
    info: DatasetInfo,
    *,
    player: str,
    source: str,
    epsilon: float,
    stopped_by_limit: bool = False,
    game: Replay | None = None,
) -> Episode:
    """Make the episode of a game of `QWOP-v1` from the keys of its frames, uint8 [n ≥ 1]; see `episode_from_keys`.

    A game that has not ended was stopped, by the time limit (truncated) or by the player.
    """
    return episode_from_keys(keys, info, player=player, source=source, epsilon=epsilon, game=game, cut=stopped_by_limit)
