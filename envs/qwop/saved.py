"""Saved games and pages, checked before they are restored, because kernels use their numbers unchecked."""

import copy
from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput
from ..engine import batch, fault_in
from ..names import OUTCOMES

_ADVICE = "expected what get_state or save_game of this version gives, for the same settings and number of games"


def wrong(what: str) -> BadInput:
    """The error for a saved game that cannot be restored."""
    return BadInput(f"a saved game: {what}; {_ADVICE}")


def entry_of(saved: Any, name: str) -> Any:
    """An entry of a saved game; BadInput if it is missing."""
    if not isinstance(saved, Mapping):
        raise wrong(f"found {type(saved).__name__}")
    if name not in saved:
        raise wrong(f"{name} is missing")
    return saved[name]


def checked_array(saved: Any, name: str, like: NDArray[Any], *, finite: bool = True) -> NDArray[Any]:
    """An entry of the shape and type of `like`, of finite numbers; BadInput for anything else."""
    given = entry_of(saved, name)
    found = f"{given.dtype} {list(given.shape)}" if isinstance(given, np.ndarray) else type(given).__name__
    if not isinstance(given, np.ndarray) or given.shape != like.shape or given.dtype != like.dtype:
        raise wrong(f"{name} is {found}, expected {like.dtype} {list(like.shape)}")
    if finite and not np.isfinite(given).all():
        raise wrong(f"{name} are not finite")
    return given


def checked_games(saved: Any, like: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of saved games, of the shapes and types of `like`; BadInput unless kernels can play them.

    like: `GameArrays.arrays()`, or one row of each.
    """
    found = {name: checked_array(saved, name, mine, finite=name != "reals") for name, mine in like.items()}
    require_sound(found["reals"], found["integers"])
    counters = np.atleast_2d(found["counters"])
    most = np.full(batch.COUNTERS, np.iinfo(np.int64).max)
    most[[batch.TERMINATED, batch.TRUNCATED, batch.OUTCOME]] = 1, 1, len(OUTCOMES) - 1
    if (counters < 0).any() or (counters > most).any():
        raise wrong("counters are out of their ranges")
    return found


def checked_page(
    state: Any, reals: NDArray[np.float64], integers: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The rows of a page's state, of the shapes and types of these; BadInput for anything that cannot be played."""
    found = (checked_array(state, "reals", reals, finite=False), checked_array(state, "integers", integers))
    require_sound(*found)
    return found


def require_sound(reals: NDArray[np.float64], integers: NDArray[np.int32]) -> None:
    """Raise BadInput unless kernels can play these games, rows or a row of the engine's numbers."""
    rows = zip(np.atleast_2d(reals), np.atleast_2d(integers), strict=True)
    for row, (numbers, places) in enumerate(rows):
        if fault := fault_in(numbers, places):
            raise wrong(f"game {row}: {fault}" if reals.ndim == 2 else fault)


def checked_keys_down(saved: Any) -> int:
    """The keys that were down in a saved game, 0 … 15."""
    keys = entry_of(saved, "keys")
    try:
        down = index(keys)
    except TypeError:
        down = -1
    if not 0 <= down <= 15:
        raise wrong(f"keys is {keys!r:.60}, expected 0 to 15")
    return down


def checked_row(saved: Any, name: str, count: int, most: int) -> NDArray[np.int64]:
    """An entry with a whole number from 0 to `most` for each game, int64 [count]."""
    given = entry_of(saved, name)
    row = given if isinstance(given, np.ndarray) else np.empty(0)
    if row.shape != (count,) or row.dtype.kind not in "iu" or row.min() < 0 or row.max() > most:
        raise wrong(f"{name} is not {count} whole numbers from 0 to {most}")
    return row.astype(np.int64)


def checked_generators(given: Any, name: str, like: list[np.random.Generator]) -> list[np.random.Generator]:
    """New generators in the saved states, one for each of `like`."""
    if not isinstance(given, list | tuple) or len(given) != len(like):
        raise wrong(f"{name} are not the states of {len(like)} generators")
    made = copy.deepcopy(like)
    for generator, state in zip(made, given, strict=True):
        try:
            generator.bit_generator.state = state
        except (TypeError, ValueError, KeyError, OverflowError, AttributeError):
            raise wrong(f"{name} are not states of a generator") from None
    return made
