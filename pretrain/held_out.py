"""Measures of clones on held-out episodes, compared with baselines that ignore the observation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..datasets.schema import Episode
from ..policies.policy import Policy
from .baselines import majority, repeat_last
from .measures import Measures, measure
from .rows import rows_of
from .split import chosen

CLONE, REPEAT_LAST, MAJORITY = "clone", "repeat the last action", "majority"


@dataclass(frozen=True)
class HeldOut:
    """One split: the numbers of the episodes held out, and the measures on them by predictor."""

    episodes: tuple[int, ...]
    measures: dict[str, Measures]


def measure_held_out(policy: Policy, episodes: Sequence[Episode], train: list[int], held_out: list[int]) -> HeldOut:
    """Measure the clone of the episodes `train`, and the baselines fitted to them, on the episodes `held_out`."""
    fitted, rows = rows_of(chosen(episodes, train), observations=False), rows_of(chosen(episodes, held_out))
    probabilities: dict[str, NDArray[np.float32 | np.float64]] = {
        CLONE: policy.probabilities(rows.observations.reshape(len(rows), *policy.observation.shape)),
        REPEAT_LAST: repeat_last(fitted, rows, policy.actions),
        MAJORITY: majority(fitted, rows, policy.actions),
    }
    return HeldOut(tuple(held_out), {name: measure(p, rows.actions) for name, p in probabilities.items()})
