"""Transitions for the tests, every number different so that a mix-up shows."""

import numpy as np
from qwop.finetune.experience.sequences import LIVE
from qwop.finetune.experience.transitions import Transitions


def make_transitions(n: int, source: int = LIVE, first: int = 0) -> Transitions:
    """n transitions, whose numbers count up from `first`."""
    count = first + np.arange(n)
    return Transitions(
        observations=count[:, None].astype(np.float32),
        actions=count.astype(np.int64),
        rewards=count.astype(np.float32),
        discounts=np.full(n, 0.9, dtype=np.float32),
        next_observations=(count[:, None] + 1).astype(np.float32),
        source=np.full(n, source, dtype=np.int8),
    )
