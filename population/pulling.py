"""Agents with a common ancestor pull each other towards their mean (PAPA, Jolicoeur-Martineau et al. 2023)."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

SCALER = "scaler."
"""Statistics of observations, which an agent keeps."""


def pulled(learners: Sequence[dict[str, Any]], founders: Sequence[int], share: float) -> list[dict[str, Any]]:
    """Return the learners' states with weights θ ← θ + share·(θ̄ − θ) of their networks.

    θ̄ is the mean over all agents with the same founder. Weights that do not descend from the same ones have no useful
    mean, because equal functions may have unlike weights. The states given are left as they are.
    """
    found = list(learners)
    for founder in set(founders):
        family = [number for number, other in enumerate(founders) if other == founder]
        if len(family) == 1 or not share:
            continue
        networks = [learners[number]["network"] for number in family]
        mean = {name: sum(network[name] for network in networks) / len(family) for name in _weights(networks[0])}
        for number, network in zip(family, networks, strict=True):
            moved = {name: network[name].lerp(towards, share) for name, towards in mean.items()}
            found[number] = {**learners[number], "network": {**network, **moved}}
    return found


def _weights(network: dict[str, Tensor]) -> list[str]:
    return [name for name, one in network.items() if one.is_floating_point() and not name.startswith(SCALER)]
