"""Comparison of a branch with the episode that it left: what both share is the same, to the bit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...common.errors import BadInput
from ..control import SHARED
from ..origin import Origin
from ..reader import read_episode
from ..schema import DatasetInfo, Episode
from .problem import Problem

Place = tuple[str, Origin]


def place_of(episode: Episode) -> Place:
    """The place of an episode in its recording, by which branches name it."""
    return episode.source, episode.origin


def problems_of_branches(
    branches: Sequence[tuple[Path, Place]], places: Mapping[Place, Sequence[Path]], info: DatasetInfo
) -> Iterator[Problem]:
    """Compare each branch with the episode that it left. branches: files with their parents' places. places: files of
    all episodes; several have one place where recordings of the same policy and seed were merged, and any of them may
    be the parent. Unreadable files are reported elsewhere.
    """
    for path, parent in branches:
        if not (others := places.get(parent)):
            yield Problem(path, f"the episode that it left, game {parent[1].game}, is not here", harmless=True)
            continue
        try:
            branch = read_episode(path, info)
            found = [first_difference(branch, read_episode(other, info)) for other in others]
        except BadInput:
            continue
        if None not in found:
            yield Problem(path, f"{found[0]} differs from {others[0].name}, which it left")


def parent_of(episode: Episode) -> Place | None:
    """The place of the episode that a branch left; None for any other."""
    if episode.branch is None:
        return None
    return episode.source, replace(episode.origin, game=episode.branch.game)


def first_difference(branch: Episode, left: Episode) -> str | None:
    """Name the first part of the shared decisions that differs; None if none does."""
    assert branch.branch is not None
    step = branch.branch.step
    if step > len(left):
        return f"the number of shared decisions, {step:,} of {len(left):,},"
    for name in SHARED:
        rows = step + 1 if name in ("observations", "times") else step
        mine, theirs = (getattr(one, name) for one in (branch, left))
        if _bytes(mine, rows) != _bytes(theirs, rows):
            return f"{name.replace('_', ' ')} before row {step}"
    frames = int(branch.frames[:step].sum())
    same = np.array_equal(branch.keys_of_frames[:frames], left.keys_of_frames[:frames])
    return None if same and np.array_equal(branch.frames[:step], left.frames[:step]) else f"keys before row {step}"


def _bytes(array: Any, rows: int) -> bytes | None:
    return None if array is None else np.ascontiguousarray(array[:rows]).tobytes()
