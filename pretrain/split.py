"""Splits by episode: neighbouring decisions are nearly equal, so a split within an episode would leak."""

from collections.abc import Sequence

import numpy as np

from ..common.errors import BadInput
from ..datasets.reader import Dataset
from ..datasets.schema import Episode


def hold_out(count: int, share: float, seed: int, part: int = 0) -> tuple[list[int], list[int]]:
    """Indices of the training and the held-out episodes, out of `count`; both sorted, neither empty. A single
    episode is in both: cloning a single game without a check is better than refusing it.

    The episodes are shuffled by `seed` and arranged in a circle, of which `part` p holds out the p-th arc: five parts
    of a fifth hold out each episode once.
    """
    if count < 1:
        raise BadInput(f"{count} episode(s) cannot be split into two parts; record more games")
    if count == 1:
        return [0], [0]
    size = min(max(round(share * count), 1), count - 1)
    circle = np.roll(np.random.default_rng(seed).permutation(count), -part * size)
    return sorted(circle[size:].tolist()), sorted(circle[:size].tolist())


def chosen(episodes: Sequence[Episode], indices: Sequence[int]) -> Sequence[Episode]:
    """Some of the episodes. Those of a dataset are read only when they are used, and not kept."""
    return episodes.select(indices) if isinstance(episodes, Dataset) else [episodes[index] for index in indices]
