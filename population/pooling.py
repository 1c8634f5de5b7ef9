"""Weights that agents have in common: whoever has learned from them for a while passes on the mean of the results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

WEIGHTS = ("network", "values")
"""Parts of a PPO learner's state that the momentum moves."""

PARTS = (*WEIGHTS, "optimiser", "seen", "average")
"""Parts of a PPO learner's state that are pooled; the rest, its random numbers, stay its own."""


class Pool:
    """The common weights θ of agents, n of which learn from them at a time: local SGD with an outer Nesterov momentum
    (Douillard et al. 2023, "DiLoCo"), here with an outer step of 1 and the mean of all other parts besides.

    With the weights θ_i of n agents that have learned apart, all from θ:

        Δ = mean_i θ_i - θ        v ← μv + Δ        θ ← θ + Δ + μv

    The mean of n agents' steps is less noisy than one's, which is why their momentum can be high. momentum: μ, at least
    0 and below 1.
    """

    def __init__(self, momentum: float) -> None:
        self._momentum = momentum
        self._weights: dict[str, dict[str, torch.Tensor]] = {}
        self._velocity: dict[str, dict[str, torch.Tensor]] = {}

    def begin(self, learner: Mapping[str, Any]) -> dict[str, Any]:
        """The parts that all have in common at first: those of this learner's state."""
        common = {name: learner[name] for name in PARTS}
        self._weights = {part: dict(common[part]) for part in WEIGHTS}
        self._velocity = {
            part: {name: torch.zeros_like(one) for name, one in weights.items() if _is_learned(name)}
            for part, weights in self._weights.items()
        }
        return common

    def share(self, learners: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The parts in common after these learners have gone on from the last ones."""
        common = {name: mean_state([learner[name] for learner in learners]) for name in PARTS}
        for part in WEIGHTS:
            for name, velocity in self._velocity[part].items():
                step = common[part][name] - self._weights[part][name]
                velocity.mul_(self._momentum).add_(step)
                common[part][name] = self._weights[part][name] + step + self._momentum * velocity
            self._weights[part] = dict(common[part])
        return common

    def get_state(self) -> dict[str, Any]:
        velocity = {part: {name: one.clone() for name, one in v.items()} for part, v in self._velocity.items()}
        return {"weights": {part: dict(one) for part, one in self._weights.items()}, "velocity": velocity}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._weights, self._velocity = dict(state["weights"]), dict(state["velocity"])


def mean_state(states: Sequence[Any]) -> Any:
    """The mean of nested states of equal shape: of each tensor and array of fractions in them. Anything else, such as a
    count, is the first one's."""
    first = states[0]
    if isinstance(first, Mapping):
        return {key: mean_state([state[key] for state in states]) for key in first}
    if isinstance(first, list | tuple):
        return type(first)(mean_state(place) for place in zip(*states, strict=True))
    if isinstance(first, torch.Tensor) and first.is_floating_point():
        return torch.stack(list(states)).mean(0)
    if isinstance(first, np.ndarray) and np.issubdtype(first.dtype, np.floating):
        return np.mean(states, axis=0)
    return first


def _is_learned(name: str) -> bool:
    """True unless it is a statistic of observations, which has no momentum."""
    return not name.startswith("scaler.")
