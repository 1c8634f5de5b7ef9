"""Live play for the tests of whole updates."""

from collections.abc import Callable
from typing import Any

import numpy as np
from qwop.finetune.experience.sequences import LIVE, Sequences, TruncatedObservations


def make_batch(
    seed: int,
    n: int = 4,
    k: int = 6,
    actions: int = 3,
    size: int = 2,
    state: Callable[[np.random.Generator], tuple[Any, ...]] = lambda random: (),
) -> Sequences:
    """Live play with ends and time limits, by a policy that is not the learner's: ratios are away from 1.

    state: draws the state that the n sequences begin with.
    """
    random = np.random.default_rng(seed)
    terminated, truncated = (np.zeros((n, k), dtype=np.bool_) for _ in range(2))
    terminated[0, 1] = terminated[2, k - 1] = terminated[1, 3] = True
    truncated[1, 2] = truncated[3, k - 1] = truncated[1, 3] = True
    sequence, step = truncated.nonzero()
    return Sequences(
        observations=random.normal(3.0, 2.0, size=(n, k + 1, size)).astype(np.float32),
        actions=random.integers(actions, size=(n, k)),
        rewards=random.normal(0.5, 1.0, size=(n, k)).astype(np.float32),
        behaviour_probabilities=random.dirichlet(np.full(actions, 8.0), size=(n, k)).astype(np.float32),
        terminated=terminated,
        truncated=truncated,
        finals=TruncatedObservations(
            sequence, step, random.normal(5.0, 1.0, size=(len(sequence), size)).astype(np.float32)
        ),
        source=np.full(n, LIVE, dtype=np.int8),
        state=state(random),
    )
