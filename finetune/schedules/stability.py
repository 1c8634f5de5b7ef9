"""Detection of unstable live play, the published reason for removing the demonstrations."""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...common.settings import Settings, setting


@dataclass(frozen=True)
class StabilitySettings(Settings):
    """Thresholds of `ReturnMonitor`; the publication gives none, so these are our own."""

    window: int = setting(200, "Episodes in the mean return.", at_least=2, at_most=1_000_000)
    drop: float = setting(0.25, "Fraction of the phase's best mean return that may be lost.", at_least=0)
    errors: float = setting(4.0, "Standard errors of the mean that the loss must exceed.", at_least=0)


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
        self._best = -np.inf

    def add(self, episode_return: float) -> None:
        """Add the return of a finished live episode."""
        self._returns.append(episode_return)
        if len(self._returns) == self._settings.window:
            self._best = max(self._best, float(np.mean(self._returns)))

    @property
    def unstable(self) -> bool:
        if len(self._returns) < self._settings.window:
            return False
        loss = self._best - float(np.mean(self._returns))
        error = float(np.std(self._returns)) / self._settings.window**0.5
        return loss > self._settings.drop * abs(self._best) and loss > self._settings.errors * error

    def restart(self) -> None:
        """Clear all returns for a new phase."""
        self._returns.clear()
        self._best = -np.inf

    def get_state(self) -> dict[str, object]:
        return {"returns": list(self._returns), "best": float(self._best)}

    def set_state(self, state: dict[str, Any]) -> None:
        self.restart()
        self._returns.extend(state["returns"])
        self._best = float(state["best"])
