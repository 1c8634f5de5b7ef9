"""Games found by a search, as episodes of a dataset."""

import numpy as np
from numpy.typing import NDArray

from ..datasets.behaviour_probabilities import smoothed, smoothed_name
from ..datasets.origin import Origin
from ..datasets.schema import Episode
from ..envs.names import ACTION_KEYS, FRAMES_A_SECOND
from ..envs.spec import EnvironmentSpec
from ..policies.rollout import Game

EPSILON = 0.05
"""ε of the smoothed behaviour probabilities, as a search does not draw its actions."""


def found_episode(
    environment: EnvironmentSpec, actions: NDArray[np.int64], idle_frames: int, source: str, origin: Origin
) -> Episode:
    """Play actions, int64 [decisions], after the idle frames in the environment, without delays.

    A game that has not ended is truncated there; actions after its end are left out.
    """
    env = environment.make(max_idle_frames=0, delay=0.0)
    observation, info = env.reset(options={"idle_frames": idle_frames})
    observations, rewards, times, keys = [observation], [], [float(info["clock"])], []
    terminated = truncated = False
    taken = 0
    for action in actions:
        if terminated or truncated:
            break
        taken += 1
        observation, reward, terminated, truncated, info = env.step(int(action))
        observations.append(observation)
        rewards.append(reward)
        times.append(float(info["clock"]))
        keys.append(np.full(info["frames"], ACTION_KEYS[action], dtype=np.uint8))
    keys[0] = np.concatenate([np.zeros(idle_frames, dtype=np.uint8), keys[0]])
    env.close()
    return Episode(
        observations=np.array(observations, dtype=np.float32),
        actions=actions[:taken].astype(np.int16),
        behaviour_probabilities=smoothed(actions[:taken], len(ACTION_KEYS), EPSILON),
        rewards=np.array(rewards, dtype=np.float32),
        times=np.array(times),
        keys=tuple(keys),
        terminated=terminated,
        truncated=not terminated,
        outcome=info["outcome"] if terminated or truncated else "stopped",
        player="search",
        source=source,
        probabilities_from=smoothed_name(EPSILON),
        metres=float(info["distance"]),
        origin=origin,
    )


def frames_of(episode: Episode | Game) -> NDArray[np.uint8]:
    """Return the keys of every frame of a game, uint8 [frames]."""
    return np.concatenate(episode.keys or (np.zeros(0, dtype=np.uint8),))


def seconds_of(episode: Episode | Game) -> float:
    """Seconds from the first key to the end."""
    keys = frames_of(episode)
    pressed = np.flatnonzero(keys)
    return (len(keys) - int(pressed[0])) / FRAMES_A_SECOND if len(pressed) else 0.0


def rank(episode: Episode) -> tuple[bool, float]:
    """A sort key, smaller for better games: the faster finish, else the farther run."""
    finished = episode.outcome == "finished"
    return not finished, seconds_of(episode) if finished else -(episode.metres or 0.0)


def described(episode: Episode) -> str:
    """Describe the game in a few words."""
    return f"{episode.outcome} at {episode.metres:.1f} m after {seconds_of(episode):.2f} s"
