"""Arrays with the decisions of several episodes, one after the other, in parts of one episode each."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.errors import BadInput, naming
from ..arrays import ArrayForm
from ..origin import Origin
from ..schema import Episode
from .imported import Imported, Unknown, filled_in

REPEATED = "the last observation of an episode where the file lacks it: the one before, which nothing learns from"


ENDLESS = "one episode of all rows, for nothing says where one ends: no episode, terminated or truncated, and no end"


class Part(NamedTuple):
    """Arrays of one episode of T decisions, as `write_episode` and `ArrayForm.episode` take them."""

    observations: Any
    actions: NDArray[Any]
    rewards: NDArray[Any] | None
    terminated: bool
    truncated: bool


def parts_of(
    observations: NDArray[Any],
    actions: NDArray[Any],
    rewards: NDArray[Any] | None = None,
    terminated: NDArray[Any] | None = None,
    truncated: NDArray[Any] | None = None,
    following: NDArray[Any] | None = None,
) -> list[Part]:
    """The episodes of n decisions, which end where one is terminated or truncated, and at the end.

    observations: [n, …], or [n + E, …] with the last one of each of E episodes. following: the observations after the
    decisions, [n, …], where the file has them. BadInput for other lengths.
    """
    columns = {"actions": actions, "observations": observations, "rewards": rewards, "next_observations": following}
    for name, rows in columns.items():
        if rows is not None and not rows.ndim:
            raise BadInput(f"{name} are a single value, expected a row for each decision")
    n = len(actions)
    flags = _truths("terminations", terminated, n), _truths("truncations", truncated, n)
    if not n:
        raise BadInput("actions have no rows, expected one decision or more")
    bounds = np.unique([0, *(np.flatnonzero(flags[0] | flags[1]) + 1).tolist(), n]).tolist()
    episodes = len(bounds) - 1
    whole = len(observations) == n + episodes
    if not whole and len(observations) != n:
        raise BadInput(
            f"observations have {len(observations):,} rows, expected {n:,} as actions have, or {n + episodes:,} with "
            "the last one of every episode"
        )
    for name in ("rewards", "next_observations"):
        if (rows := columns[name]) is not None and len(rows) != n:
            raise BadInput(f"{name} have {len(rows):,} rows, expected {n:,} as actions have")
    parts = []
    for number, (begin, end) in enumerate(pairwise(bounds)):
        seen = observations[begin + number : end + number + 1] if whole else observations[begin:end]
        if not whole and following is not None:
            seen = np.concatenate([seen, following[end - 1 : end]])
        earned = None if rewards is None else rewards[begin:end]
        parts.append(Part(seen, actions[begin:end], earned, *(bool(flag[end - 1]) for flag in flags)))
    return parts


def _truths(name: str, given: NDArray[Any] | None, n: int) -> NDArray[np.bool_]:
    """A truth for each of n decisions, all false where none are given; BadInput for anything else."""
    found = np.zeros(n) if given is None else np.asarray(given).reshape(-1)
    if found.dtype.kind not in "fiub":
        raise BadInput(f"{name} are {found.dtype}, expected true or false (1 or 0)")
    if len(found) != n:
        raise BadInput(f"{name} have {len(found):,} rows, expected {n:,} as actions have")
    if len(strange := np.flatnonzero((found != 0) & (found != 1))):
        raise BadInput(f"{name} of row {strange[0]} are {found[strange[0]]}, expected true or false (1 or 0)")
    return found.astype(np.bool_)


def imported(parts: Sequence[Part], form: ArrayForm, unknown: Unknown, path: Path) -> Imported:
    """The parts as episodes; BadInput about one of them names the file and the episode."""
    short = any(len(part.observations) == len(part.actions) for part in parts)
    endless = len(parts) == 1 and not (parts[0].terminated or parts[0].truncated)
    notes = filled_in(unknown, *([REPEATED] if short else []), *([ENDLESS] if endless else []))
    return Imported(form.info, _episodes(parts, form, unknown, path), len(parts), notes)


def _episodes(parts: Sequence[Part], form: ArrayForm, unknown: Unknown, path: Path) -> Iterator[Episode]:
    for number, part in enumerate(parts):
        with naming(f"{path}: episode {number}"):
            yield form.episode(unknown, **part._asdict(), source=path.name, origin=Origin(game=number))
