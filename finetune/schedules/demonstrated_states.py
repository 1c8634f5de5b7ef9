"""States from demonstrations, as starts of games."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...common.errors import BadInput
from ...datasets.from_keys import states_along
from ...datasets.reader import Dataset
from ...datasets.schema import Episode
from ...envs.qwop.env import QWOPEnv
from ...envs.spec import EnvironmentSpec
from .saved_states import SavedState

EVERY = 10
"""Frames between two states of a demonstration."""

LEFT = 10.0
"""Minimum seconds from a state to the game's time limit."""


def demonstrated_states(
    dataset: Dataset, environment: EnvironmentSpec, metres: tuple[float, ...]
) -> tuple[SavedState, ...]:
    """Replay every episode and save its state every `EVERY` frames between these metres.

    environment: the one in which games will continue; its observations, decision rate and rewards may differ from the
    dataset's. Raises BadInput if an episode has no keys, or if there is no state between these metres.
    """
    env = environment.make(max_idle_frames=0, delay=0.0).unwrapped
    assert isinstance(env, QWOPEnv)
    env.reset()
    low, high = metres
    latest = env.task.time_limit - LEFT
    found: list[SavedState] = []
    for path, episode in zip(dataset.files, dataset, strict=True):
        if episode.keys is None:
            raise BadInput(
                f"{path}: has no keys to replay, so no game can start from its states; leave out restarts.source, or "
                "give demonstrations with keys"
            )
        found += [
            SavedState(info["distance"], game)
            for info, game in _states(env, episode)
            if low <= info["distance"] < high and info["clock"] <= latest
        ]
    if not found:
        raise BadInput(
            f"restarts.metres={list(metres)}: no demonstration in {dataset.folder} passes there {LEFT:g} s before the "
            f"phase's time limit of {env.task.time_limit:g} s; widen the stretch, or raise time_limit"
        )
    return tuple(found)


def _states(env: QWOPEnv, episode: Episode) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the info and the saved game every `EVERY` frames of an episode, to the end of the game."""
    keys = np.concatenate(episode.keys or ())
    frames = np.arange(EVERY, len(keys), EVERY)
    # Play the last frame before each state in `env`, so that it updates its observation and infos.
    for frame, page in zip(frames, states_along(episode, frames - 1), strict=True):
        env.continue_from(page, keys[: frame - 1])
        _, _, terminated, _, info = env.advance(int(keys[frame - 1]))
        if terminated:
            return
        yield info, env.save_game()
