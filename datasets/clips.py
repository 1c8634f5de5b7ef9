"""Episodes of QWOP as clips for the player."""

import numpy as np

from ..common.errors import BadInput
from ..envs.pictures.player import Clip, rows_of_replay
from .from_keys import replay_episode
from .schema import DatasetInfo, Episode


def clip_of(episode: Episode, info: DatasetInfo, title: str) -> Clip:
    """The clip of an episode, which is played again from its keys; BadInput for one without."""
    if not info.environment.capabilities.keys:
        raise BadInput(f"a game of {info.environment.id} cannot be drawn from its numbers")
    return Clip(title, rows_of_replay(replay_episode(episode), episode.keys_of_frames))


def clip_title(episode: Episode, number: int | None) -> str:
    """An episode in a few words, as in 'episode 3: me, 100.0 m, finished'."""
    far = episode.metres
    result = f"return {episode.rewards.sum(dtype=np.float64):.1f}" if far is None else f"{far:.1f} m"
    return f"episode {number}: {episode.player}, {result}, {episode.outcome}"
