"""States along demonstrations, to start games from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ...datasets.reader import Dataset
from ...envs.qwop.env import QWOPEnv
from ...envs.spec import EnvironmentSpec

EVERY = 10
"""Frames between two states of a demonstration."""

LEFT = 10.0
"""Seconds that a game from a state still has before its time limit, at least."""


@dataclass(frozen=True)
class SavedState:
    """A game as `QWOPVectorEnv.save_game` gives it, and the metres that its runner had reached."""

    metres: float
    game: dict[str, Any]


def demonstrated_states(
    dataset: Dataset, environment: EnvironmentSpec, metres: tuple[float, ...]
) -> tuple[SavedState, ...]:
    """Replay every episode and save its state each `EVERY` frames between these metres.

    environment: the one that games will continue in; its observations, decision rate and rewards may differ from the
    dataset's. Raises BadInput if an episode has no keys, or if there is no state between these metres.
    """
    env = environment.make(max_idle_frames=0, delay=0.0).unwrapped
    assert isinstance(env, QWOPEnv)
    low, high = metres
    latest = env.task.time_limit - LEFT
    found: list[SavedState] = []
    for number, path in enumerate(dataset.files):
        keys = dataset[number].keys
        if keys is None:
            raise BadInput(
                f"{path}: has no keys to replay, so no game can start from its states; leave out restarts.source, or "
                "give demonstrations with keys"
            )
        found += [
            SavedState(info["distance"], game)
            for info, game in _replayed(env, np.concatenate(keys))
            if low <= info["distance"] < high and info["clock"] <= latest
        ]
    if not found:
        raise BadInput(
            f"restarts.metres={list(metres)}: no demonstration in {dataset.folder} passes there {LEFT:g} s before the "
            f"phase's time limit of {env.task.time_limit:g} s; widen the stretch, or raise time_limit"
        )
    return tuple(found)


def _replayed(env: QWOPEnv, keys: NDArray[np.uint8]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The info and the saved game after every `EVERY` frames of these keys, to the end of the game."""
    env.reset()
    for frame, pressed in enumerate(keys.tolist(), start=1):
        _, _, terminated, _, info = env.advance(pressed)
        if terminated:
            return
        if frame % EVERY == 0:
            yield info, env.save_game()
