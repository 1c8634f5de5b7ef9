"""Games of a search, as episodes of a dataset."""

import math

import numpy as np
from numpy.typing import NDArray

from ..datasets.from_keys import episode_from_keys, qwop_info
from ..datasets.origin import Origin
from ..datasets.schema import Episode
from ..envs.names import ACTION_KEYS
from ..envs.pictures.video import seconds_from_first_key
from ..envs.qwop.task import FRAMES_A_SECOND, QWOPTask
from ..envs.spec import EnvironmentSpec
from ..policies.rollout import Game

EPSILON = 0.05
"""ε of the smoothed behaviour probabilities, as a search does not draw its actions."""


def searched_episode(
    environment: EnvironmentSpec, actions: NDArray[np.int64], idle_frames: int, source: str, origin: Origin
) -> Episode:
    """Play actions, int64 [decisions], after the idle frames in the environment, without delays.

    A game that has not ended is truncated there; actions after its end, or after the time limit, are left out.
    """
    info, task = qwop_info(**environment.settings), QWOPTask(**environment.settings)
    frames = task.frames_per_step
    most = round(task.time_limit * FRAMES_A_SECOND) - 1 - idle_frames  # at a game's start, the clock is at one frame
    actions = actions[: max(math.ceil(most / frames), 1)]
    keys = np.concatenate([np.zeros(idle_frames, dtype=np.uint8), np.repeat(ACTION_KEYS[actions], frames)])
    bounds = idle_frames + frames * np.arange(len(actions) + 1)
    return episode_from_keys(keys, info, player="search", source=source, epsilon=EPSILON, origin=origin, bounds=bounds)


def frames_of(episode: Episode | Game) -> NDArray[np.uint8]:
    """Return the keys of every frame of a game, uint8 [frames]."""
    return np.concatenate(episode.keys or (np.zeros(0, dtype=np.uint8),))


def seconds_of(episode: Episode | Game) -> float:
    """Seconds from the first key to the end."""
    return float(seconds_from_first_key(frames_of(episode))[-1])


def rank(episode: Episode) -> tuple[bool, float]:
    """A sort key, smaller for better games: the faster finish, else the farther run."""
    finished = episode.outcome == "finished"
    return not finished, seconds_of(episode) if finished else -(episode.metres or 0.0)


def described(episode: Episode) -> str:
    """Describe the game in a few words."""
    return f"{episode.outcome} at {episode.metres:.1f} m after {seconds_of(episode):.2f} s"
