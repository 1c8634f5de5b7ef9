"""The beginning of a game, which a search continues."""

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..envs.names import ACTION_KEYS, UNITS_A_METRE
from ..envs.qwop.keys_file import read_keys
from ..envs.qwop.replay import replay
from ..envs.spec import EnvironmentSpec
from ..policies.champion import keys_path

_ACTION_OF = {int(keys): action for action, keys in reversed([*enumerate(ACTION_KEYS)])}
"""The first action with these keys."""


def opening_of(file: str, metres: float, environment: EnvironmentSpec) -> tuple[int, NDArray[np.int64]]:
    """Return the idle frames of a game and its actions, int64 [k], up to a distance. file: a keys file or champion.

    The actions are whole decisions of the environment. Raises BadInput if the game does not get that far, or if its
    keys change within a decision.
    """
    path = keys_path(file)
    keys = read_keys(path)
    frames_per_step = int(environment.all_settings["frames_per_step"])
    idle = int(np.argmax(keys > 0)) if keys.any() else len(keys)
    reached = np.flatnonzero(replay(keys).states[:, 0, 0] >= metres * UNITS_A_METRE)
    if not len(reached):
        raise BadInput(f"{path}: a game that does not come {metres:g} m; lower opening_metres")
    count = max(int(reached[0]) - idle, 0) // frames_per_step
    decisions = keys[idle : idle + count * frames_per_step].reshape(count, frames_per_step)
    if (decisions != decisions[:, :1]).any():
        raise BadInput(
            f"{path}: its keys change within decisions of {frames_per_step} frames; search with a policy that decides "
            "more often"
        )
    unknown = sorted({int(pressed) for pressed in decisions[:, 0]} - {*_ACTION_OF})
    if unknown:
        raise BadInput(f"{path}: keys of no action are down together ({unknown[0]}); expected at most two")
    return idle, np.array([_ACTION_OF[int(pressed)] for pressed in decisions[:, 0]], dtype=np.int64)
