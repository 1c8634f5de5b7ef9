"""Episodes of QWOP as clips for the player."""

import numpy as np

from ..common.errors import BadInput
from ..envs.engine import layout as at
from ..envs.names import ACTION_KEYS, FEATURES, FRAMES_A_SECOND
from ..envs.pictures.player import Clip, rows_of_replay, rows_of_states
from ..envs.qwop.motion import states_of_observations
from .from_keys import replay_episode
from .schema import DatasetInfo, Episode

OUT_OF_SIGHT = -1000.0
"""Place of the hurdle when observations do not contain it, units."""


def clip_of(episode: Episode, info: DatasetInfo, title: str) -> Clip:
    """The clip of an episode; BadInput for one that cannot be drawn.

    An episode with keys is played again. Without keys it is drawn from its observations, interpolated linearly, without
    the hurdle and with the keys of its actions.
    """
    if not info.environment.capabilities.keys:
        raise BadInput(f"a game of {info.environment.id} cannot be drawn from its numbers")
    if episode.keys is not None:
        return Clip(title, rows_of_replay(replay_episode(episode), np.concatenate(episode.keys)))
    if info.observation.shape != (len(FEATURES),) or episode.times is None:
        raise BadInput(f"an episode without keys whose observations are {info.observation} cannot be drawn")
    frames = np.maximum(np.round(np.diff(episode.times) * FRAMES_A_SECOND), 0).astype(np.int64)
    states = states_of_observations(episode.observations, frames)
    states[:, at.HURDLE_BASE :, at.X] = OUT_OF_SIGHT
    keys = np.append(0, np.repeat(ACTION_KEYS[episode.actions], frames))
    seconds = np.arange(len(states)) / FRAMES_A_SECOND
    return Clip(title, rows_of_states(states, np.stack([states[:, 0, 0] / 10, seconds, keys], axis=1)))


def clip_title(episode: Episode, number: int | None) -> str:
    """An episode in a few words, as in 'episode 3: me, 100.0 m, finished'."""
    if episode.metres is None:
        result = f"return {episode.rewards.sum(dtype=np.float64):.1f}"
    else:
        result = f"{episode.metres:.1f} m"
    return f"episode {number}: {episode.player}, {result}, {episode.outcome}"
