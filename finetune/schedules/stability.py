"""Detection of unstable live play, the published reason for removing the demonstrations."""

import math
from collections import deque
from statistics import fmean, pstdev
from typing import Annotated, Any

from pydantic import Field

from ...common.settings import NotNegative, Settings


class StabilitySettings(Settings):
    """Thresholds of `ReturnMonitor`; the publication gives none, so these are our own."""

    window: Annotated[int, Field(ge=2, le=1_000_000)] = 200
    """Episodes in the mean return."""
    drop: NotNegative = 0.25
    """Fraction of the phase's best mean return that may be lost."""
    errors: NotNegative = 4.0
    """Standard errors of the mean that the loss must exceed."""


class ReturnMonitor:
    """Watches the returns of live episodes.

    With m the mean return of the last `window` episodes, s its standard error and b the best such mean so far, play is
    unstable once

        b − m > drop·|b|  and  b − m > errors·s.

    Before `window` episodes have ended, play counts as stable.
    """

    def __init__(self, settings: StabilitySettings) -> None:
        self._settings = settings
        self._returns: deque[float] = deque(maxlen=settings.window)
        self._best = -math.inf

    def add(self, episode_return: float) -> None:
        """Add the return of a finished live episode."""
        self._returns.append(episode_return)
        if len(self._returns) == self._settings.window:
            self._best = max(self._best, fmean(self._returns))

    @property
    def unstable(self) -> bool:
        if len(self._returns) < self._settings.window:
            return False
        loss = self._best - fmean(self._returns)
        error = pstdev(self._returns) / self._settings.window**0.5
        return loss > self._settings.drop * abs(self._best) and loss > self._settings.errors * error

    def restart(self) -> None:
        """Clear all returns for a new phase."""
        self._returns.clear()
        self._best = -math.inf

    def get_state(self) -> dict[str, object]:
        return {"returns": list(self._returns), "best": float(self._best)}

    def set_state(self, state: dict[str, Any]) -> None:
        self.restart()
        self._returns.extend(state["returns"])
        self._best = float(state["best"])
