"""Running scale of the returns, in units of which a critic learns."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ....policies.devices import in_float64


class ReturnScale:
    """σ, the root mean square of all returns of live play so far, in units of which the critic's last layer learns.

    A critic of returns of −100 has a gradient a hundred times longer than the policy's, which is clipped with it, and
    needs thousands of steps to grow to that size. So the layer is divided by σ before an update and multiplied by it
    afterwards (PopArt, van Hasselt et al. 2016, without its shift): V(s) itself is always in units of reward.
    """

    def __init__(self, head: nn.Linear) -> None:
        self._head = head
        self._count, self._squares = 0, 0.0

    @property
    def sigma(self) -> float:
        """σ; 1 while all returns are 0."""
        return (self._squares / self._count) ** 0.5 if self._squares else 1.0

    @contextmanager
    def learning_from(self, returns: Tensor) -> Iterator[Tensor]:
        """Context manager around an update on these returns, [n], which are added first; yields the layer's targets."""
        self._count += returns.numel()
        self._squares += float(in_float64(returns).square().sum())
        self._multiply(1.0 / self.sigma)
        yield returns / self.sigma
        self._multiply(self.sigma)

    def get_state(self) -> dict[str, object]:
        return {"count": self._count, "squares": self._squares}

    def set_state(self, state: dict[str, Any]) -> None:
        self._count, self._squares = int(state["count"]), float(state["squares"])

    @torch.no_grad()
    def _multiply(self, factor: float) -> None:
        for one in self._head.parameters():
            one.mul_(factor)
