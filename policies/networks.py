"""The network of the published runner: one trunk, a policy head and a Q head."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from .scaling import ObservationScaler

HIDDEN = (256, 128)
"""Widths of the published runner (71 → 256 → 128 → 11 and 11: 54 166 parameters)."""


class ActorCritic(nn.Module):
    """A trunk of ReLU layers under a policy head and a Q head, as in ACER with discrete actions (Wang et al. 2017).

    Weights are orthogonal, gain √2 in the trunk and 0.01 in the heads, so that the first policy is near uniform; biases
    are zero. V(s) = Σ_a π(a|s) Q(s, a) needs no head of its own.
    """

    def __init__(
        self,
        observation_size: int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.observation_size = observation_size
        self.actions = actions
        self.hidden = tuple(hidden)
        self.scaler = ObservationScaler(observation_size)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise((observation_size, *self.hidden)):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.trunk = nn.Sequential(*layers)
        width = (observation_size, *self.hidden)[-1]
        self.policy_head = nn.Linear(width, actions)
        self.q_head = nn.Linear(width, actions)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                gain = 0.01 if module in (self.policy_head, self.q_head) else math.sqrt(2)
                nn.init.orthogonal_(module.weight, gain, generator)
                nn.init.zeros_(module.bias)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits and Q values, both [..., actions], of raw (unscaled) observations [..., observation_size]."""
        features = self.trunk(self.scaler(observations))
        return self.policy_head(features), self.q_head(features)
