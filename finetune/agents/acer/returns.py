"""Initial values of a policy from its live play, and value bounds from the returns of complete episodes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....policies.devices import in_float64
from ...experience.sequences import Sequences, discounted_returns

RIDGE = 0.03
"""Ridge on the diagonal, relative to the mean variance of a feature. Without it, nearly constant or collinear features
get such large weights that the first change of the hidden layers ruins all values."""

MARGIN = 0.25
"""Margin for a better policy, beyond the returns seen so far: a fraction of their range."""


class ReturnRange:
    """The smallest and largest discounted return of any step of the episodes seen so far.

    A critic that bootstraps from actions absent from the data can diverge; the returns seen so far bound the plausible
    values. Live play arrives as sequences of `streams` games that continue from one sequence to the next.
    demonstrations: rewards [T] of each demonstrated episode, which a player achieved.
    """

    def __init__(self, streams: int, demonstrations: Sequence[NDArray[np.floating]] = ()) -> None:
        self._demonstrations = demonstrations
        self._open: list[list[float]] = [[] for _ in range(streams)]
        self._low, self._high = np.inf, -np.inf

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The value bounds: the return range, widened by `MARGIN` and including 0; None until an episode has ended."""
        if self._low > self._high:
            return None
        low, high = min(self._low, 0.0), max(self._high, 0.0)
        more = MARGIN * (high - low)
        return low - more, high + more

    def add_episode(self, rewards: NDArray[np.floating], gamma: float) -> None:
        """Add a complete episode by its rewards [T]."""
        returns = discounted_returns(rewards, gamma)
        self._low, self._high = min(self._low, float(returns.min())), max(self._high, float(returns.max()))

    def add_demonstrations(self, gamma: float) -> None:
        """Add the demonstrations, in an environment with their rewards."""
        for rewards in self._demonstrations:
            self.add_episode(rewards, gamma)

    def add_live(self, live: Sequences, gamma: float) -> None:
        """Add the episodes that end in these sequences."""
        over = live.terminated | live.truncated
        ended = np.asarray(over.any(axis=1))
        for stream, rewards in enumerate(live.rewards.tolist()):
            start = 0
            for end in (np.flatnonzero(over[stream]) + 1).tolist() if ended[stream] else ():
                self.add_episode(np.array(self._open[stream] + rewards[start:end]), gamma)
                self._open[stream], start = [], end
            self._open[stream] += rewards[start:]

    def restart(self) -> None:
        """Reset all statistics, because rewards or their discount change; see `add_demonstrations`."""
        self._low, self._high = np.inf, -np.inf
        self.drop_partial_episodes()

    def drop_partial_episodes(self) -> None:
        """Discard unfinished episodes, which will not be continued."""
        self._open = [[] for _ in self._open]

    def get_state(self) -> dict[str, object]:
        return {"open": [list(one) for one in self._open], "low": float(self._low), "high": float(self._high)}

    def set_state(self, state: dict[str, Any]) -> None:
        self._open = [list(one) for one in state["open"]]
        self._low, self._high = float(state["low"]), float(state["high"])


def lstd(features: Tensor, next_features: Tensor, rewards: Tensor, gamma: float) -> Tensor:
    """w with V(s) = wᵀφ(s), by least-squares temporal differences from steps of one policy (Bradtke and Barto 1996).

    Solves (Σ φ_t (φ_t − γ φ_{t+1})ᵀ + ridge) w = Σ φ_t r_t. features φ(s_t), next_features φ(s_{t+1}), 0 after a
    terminal step: [steps, size], the last feature is the constant 1, whose weight is not regularised; rewards
    [steps]; result [size], float64.
    """
    phi, following, r = map(in_float64, (features, next_features, rewards))
    a = phi.T @ (phi - gamma * following)
    shrinking = len(phi) * RIDGE * phi[:, :-1].var(dim=0, correction=0).mean() + torch.finfo(phi.dtype).tiny
    a.diagonal()[:-1] += shrinking
    w: Tensor = torch.linalg.solve(a, phi.T @ r)
    return w
