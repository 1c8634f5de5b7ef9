"""The numbers of an observation, for any states of the game."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common.errors import BadInput
from ..engine import layout as at
from ..engine import native
from ..engine.batch import FEATURES_ONLY, HIDDEN
from ..names import JUMPED
from .task import OBSERVATIONS


def observe_as(
    observation: str, states: ArrayLike, events: ArrayLike | None = None, hidden: ArrayLike | None = None
) -> NDArray[np.float32]:
    """Return observations of a kind: "features" (float32 [..., 71]), "full" ([..., 94]) or "contact" ([..., 112]).

    A body is its angle, velocity and position, x relative to the torso's; a joint is `angle_b - angle_a -
    reference_angle`. Radians, and units of the game (10 to a metre, y downwards).

    They are made from the states [..., 14, 6] and, all but "features", from the events [..., 6] (`names.EVENT_COLUMNS`)
    and hidden numbers [..., 3] (`names.HIDDEN_COLUMNS`) of a `Replay` or of the page. BadInput if these are None.
    """
    kind, names = OBSERVATIONS[observation]
    rows, shape = _rows(states)
    jumped, more = np.empty(0), np.empty((0, HIDDEN))
    if kind != FEATURES_ONLY:
        if hidden is None:
            raise BadInput(f"observation={observation}: this game was recorded without its hidden numbers")
        jumped = np.ascontiguousarray(np.asarray(events, dtype=np.float64)[..., JUMPED].reshape(len(rows)))
        more = np.ascontiguousarray(np.asarray(hidden, dtype=np.float64).reshape(len(rows), HIDDEN))
    out = np.empty((len(rows), len(names)), dtype=np.float32)
    native.call("observe_all", kind, rows, jumped, more, out)
    return out.reshape(*shape, len(names))


def observe_start(observation: str = "features") -> NDArray[np.float32]:
    """Return the start position, float32 [71, 94 or 112]: the first observation of an observer that lags by a frame."""
    kind, names = OBSERVATIONS[observation]
    out = np.empty(len(names), dtype=np.float32)
    native.call("observe_start", kind, np.empty(at.REALS), out)
    return out


def bent_knee(states: ArrayLike) -> NDArray[np.float64]:
    """Return the smaller of the two knee angles, float64 [...] of states [..., 14, 6], radians, as rewards use it."""
    rows, shape = _rows(states)
    out = np.empty(len(rows))
    native.call("bent_knees", rows, out)
    return out.reshape(shape)


def _rows(states: ArrayLike) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Return the states as rows [n, 84], and their leading dimensions."""
    table = np.asarray(states, dtype=np.float64)
    if table.shape[-2:] != (14, 6):
        raise ValueError(f"states of shape {list(table.shape)}, expected [..., 14, 6]")
    return np.ascontiguousarray(table.reshape(-1, 84)), table.shape[:-2]
