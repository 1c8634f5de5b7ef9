"""Runners that have come to a standstill."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.race.rules import TIE_METRES


class Standing:
    """Follows the progress of n runners.

    farthest: metres of new ground up to the last notable progress (`TIE_METRES`), float64 [n]; since: the clock then,
    in seconds, float64 [n].
    """

    def __init__(self, count: int) -> None:
        self.farthest, self.since = np.zeros(count), np.zeros(count)

    def begin(self, runners: NDArray[np.bool_]) -> None:
        """Forget these runners' progress: they start."""
        self.farthest[runners] = self.since[runners] = 0.0

    def seconds(self, metres: NDArray[np.float64], clock: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds, float64 [n], that each has made no notable progress, given its metres and its clock now."""
        progress = metres > self.farthest + TIE_METRES
        self.farthest[progress], self.since[progress] = metres[progress], clock[progress]
        return clock - self.since

    def get_state(self) -> dict[str, Any]:
        return {"farthest": self.farthest.copy(), "since": self.since.copy()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.farthest[:], self.since[:] = state["farthest"], state["since"]
