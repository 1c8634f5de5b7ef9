"""Episodes dealt into parts: neighbouring decisions are nearly equal, so a split between them would leak."""

import numpy as np

from ..common.errors import BadInput


def hold_out(count: int, share: float, seed: int, part: int = 0) -> tuple[list[int], list[int]]:
    """Numbers of the episodes to learn from and of those held out, out of `count`; both in rising order, neither empty.

    The episodes are shuffled by `seed` and laid in a circle; `part` p holds out the p-th stretch of it. So five parts
    of a fifth hold out every episode once.
    """
    if not 0 < share < 1:
        raise BadInput(f"a share of {share:g} cannot be set aside; expected between 0 and 1")
    if count < 2:
        raise BadInput(f"{count} episode(s) cannot be split into two parts; record more games")
    size = min(max(round(share * count), 1), count - 1)
    circle = np.roll(np.random.default_rng(seed).permutation(count), -part * size)
    return sorted(circle[size:].tolist()), sorted(circle[:size].tolist())
