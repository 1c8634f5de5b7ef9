"""Means of a network's weights: over the last part of a phase, and over the most recent decisions."""

import copy
from typing import Any

import torch
from torch import Tensor

from ..policies.devices import in_float64
from ..policies.networks import Network


class WeightAverage:
    """θ̄ = (θ_1 + … + θ_n)/n over the weights after each of n iterations (Polyak and Juditsky 1992).

    Individual iterates fluctuate around the optimum; their average is closer to it. Buffers, such as the statistics
    that scale observations, are not averaged.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._weights: list[Tensor] = list(network.parameters())
        self._sums: list[Tensor] = []
        self._count = 0

    @torch.no_grad()
    def add(self) -> None:
        """Add the network's current weights to the mean."""
        weights = [in_float64(one) for one in self._weights]
        if not self._count:
            self._sums = [torch.zeros_like(one) for one in weights]
        torch._foreach_add_(self._sums, weights)
        self._count += 1

    @property
    def network(self) -> Network:
        """A copy of the network with the mean of its weights; the network itself if none were added."""
        return self._set_mean(copy.deepcopy(self._network)) if self._count else self._network

    def settle(self) -> None:
        """Set the network's weights to the mean, if any were added, and reset it."""
        if self._count:
            self._set_mean(self._network)
        self._sums, self._count = [], 0

    @torch.no_grad()
    def _set_mean(self, network: Network) -> Network:
        torch._foreach_copy_(list(network.parameters()), torch._foreach_div(self._sums, self._count))
        return network

    def get_state(self) -> dict[str, object]:
        return {"sums": [one.clone() for one in self._sums], "count": self._count}

    def set_state(self, state: dict[str, Any]) -> None:
        self._count = int(state["count"])
        pairs = zip(state["sums"], self._weights, strict=self._count > 0)
        self._sums = [one.to(in_float64(like).device) for one, like in pairs]


SHARE = 0.1
"""Largest window of a recent average, as a share of all decisions so far."""


Average = dict[str, Any]
"""A recent average: weights by name, and the decisions so far."""


def new_average(network: Network) -> Average:
    """An average that begins with the network's weights."""
    return {"weights": {name: one.detach().clone() for name, one in network.named_parameters()}, "decisions": 0}


@torch.no_grad()
def add_recent(average: Average, network: Network, decisions: int, window: int) -> None:
    """θ̄ ← θ̄ + n/w (θ − θ̄) after n more decisions: an exponential moving average over about the last w.

    w is `window`, but at most `SHARE` of all decisions so far, so that the first weights are soon forgotten. With a
    window of 0, θ̄ = θ. Buffers are not averaged.
    """
    average["decisions"] += decisions
    width = max(min(window, SHARE * average["decisions"]), decisions)
    for name, weights in network.named_parameters():
        mean = average["weights"][name]
        mean.lerp_(weights.to(mean.device), decisions / width)
