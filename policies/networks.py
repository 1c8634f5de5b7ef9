"""Networks that can be a policy."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from .scaling import ObservationScaler
from .state import State

HIDDEN = (256, 128)
"""Widths of the published runner (71 → 256 → 128 → 11 and 11: 54 166 parameters)."""

SCALED_MOST = 8.0
"""Scaled observations beyond this many standard deviations count as this many, in `Actor` and what learns with it: a
number that is nearly always 0 (the hurdle, out of sight) has a tiny deviation at first."""


class Network(nn.Module):
    """What a `Policy` needs of a network: `logits` of its actions, and a `description` to build it again from."""

    architecture: ClassVar[str]

    def __init__(self, observation_size: int, actions: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.observation_size = observation_size
        self.actions = actions
        self.hidden = tuple(hidden)
        self.scaler = ObservationScaler(observation_size)

    def logits(self, observations: Tensor) -> Tensor:
        """Of the actions' probabilities, [..., actions], of raw (unscaled) observations [..., observation_size]."""
        raise NotImplementedError

    def initial_state(self, n: int) -> State:
        """The state at the beginning of n episodes, tensors [n, ...]; empty for a memoryless network."""
        return ()

    def step(self, observations: Tensor, state: State) -> tuple[Tensor, State]:
        """One decision in each of n games: logits [n, actions] and the following state."""
        return self.logits(observations.flatten(1)), state

    def description(self) -> dict[str, Any]:
        """The settings of its architecture, as plain data."""
        return {"hidden": list(self.hidden)}

    @classmethod
    def from_description(cls, observation_size: int, actions: int, description: Mapping[str, Any]) -> Self:
        """An untrained network of this description. KeyError, TypeError or ValueError for what is none."""
        return cls(observation_size, actions, [int(width) for width in description["hidden"]])


class ActorCritic(Network):
    """A trunk of ReLU layers under a policy head and a Q head, as in ACER with discrete actions (Wang et al. 2017).

    Weights are orthogonal, gain √2 in the trunk and 0.01 in the heads, so that the first policy is near uniform; biases
    are zero. V(s) = Σ_a π(a|s) Q(s, a) needs no head of its own.
    """

    architecture = "actor-critic"

    def __init__(
        self,
        observation_size: int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(observation_size, actions, hidden)
        self.trunk = _layers((observation_size, *self.hidden), nn.ReLU, generator)
        width = (observation_size, *self.hidden)[-1]
        self.policy_head = _linear(width, actions, 0.01, generator)
        self.q_head = _linear(width, actions, 0.01, generator)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits and Q values, both [..., actions], of raw (unscaled) observations [..., observation_size]."""
        features = self.features(observations)
        return self.policy_head(features), self.q_head(features)

    def features(self, observations: Tensor) -> Tensor:
        """What the heads see, [..., width], of raw observations."""
        features: Tensor = self.trunk(self.scaler(observations))
        return features

    def logits(self, observations: Tensor) -> Tensor:
        logits: Tensor = self.policy_head(self.features(observations))
        return logits


class Actor(Network):
    """Layers of tanh under a policy head, and nothing else: what PPO makes, whose values are a network of their own.

    Weights are orthogonal, gain √2 and 0.01 in the head; biases are zero. Scaled observations are kept within
    ±`SCALED_MOST`.
    """

    architecture = "actor"

    def __init__(
        self,
        observation_size: int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(observation_size, actions, hidden)
        self.trunk = _layers((observation_size, *self.hidden), nn.Tanh, generator)
        self.policy_head = _linear((observation_size, *self.hidden)[-1], actions, 0.01, generator)

    def features(self, observations: Tensor) -> Tensor:
        """What the head sees, [..., width], of raw observations."""
        features: Tensor = self.trunk(self.scaler(observations).clamp(-SCALED_MOST, SCALED_MOST))
        return features

    def logits(self, observations: Tensor) -> Tensor:
        logits: Tensor = self.policy_head(self.features(observations))
        return logits


class Values(nn.Module):
    """V(s) beside a policy: layers of tanh over observations that somebody else has scaled; gain 1 in the head."""

    def __init__(self, observation_size: int, hidden: Sequence[int], generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.trunk = _layers((observation_size, *hidden), nn.Tanh, generator)
        self.head = _linear((observation_size, *hidden)[-1], 1, 1.0, generator)

    def features(self, scaled: Tensor) -> Tensor:
        """What the head sees, [..., width], of scaled observations."""
        features: Tensor = self.trunk(scaled.clamp(-SCALED_MOST, SCALED_MOST))
        return features

    def forward(self, scaled: Tensor) -> Tensor:
        """[...], of scaled observations [..., observation_size]."""
        values: Tensor = self.head(self.features(scaled))
        return values.squeeze(-1)


class DuelingQ(Network):
    """Q values by two separate stacks of layers, of V(s) and of the advantages (Wang et al. 2016), as in the published
    runner: linear, layer norm, ReLU (71 → 256 → 128 → 11 and 1: 105 740 parameters).

    With `quantiles` N > 1, each Q value is the mean of N quantiles of the return. Weights are Xavier's, biases zero.

    As a policy it acts ε-greedily: π(a|s) = (1 − ε)·1{a = argmax Q(s, ·)} + ε/A, exactly, with the first of equal Q
    values. ε is a buffer, so a file has the ε that the network last played with; greedy play is argmax Q.
    """

    architecture = "dueling-q"
    epsilon: Tensor

    def __init__(
        self,
        observation_size: int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
        quantiles: int = 1,
    ) -> None:
        super().__init__(observation_size, actions, hidden)
        if quantiles < 1:
            raise ValueError(f"{quantiles} quantiles, expected at least 1")
        self.quantiles = quantiles
        widths = (observation_size, *self.hidden)
        self.value = _normed_layers((*widths, quantiles), generator)
        self.advantage = _normed_layers((*widths, actions * quantiles), generator)
        self.register_buffer("epsilon", torch.tensor(0.0))

    def quantile_values(self, observations: Tensor) -> Tensor:
        """[..., actions, quantiles], of raw (unscaled) observations [..., observation_size]."""
        scaled = self.scaler(observations)
        advantages = self.advantage(scaled).unflatten(-1, (self.actions, self.quantiles))
        return dueling(self.value(scaled).unsqueeze(-2), advantages)

    def forward(self, observations: Tensor) -> Tensor:
        """Q(s, ·) [..., actions], of raw (unscaled) observations [..., observation_size]."""
        return self.quantile_values(observations).mean(-1)

    def logits(self, observations: Tensor) -> Tensor:
        best = self(observations).argmax(dim=-1)
        greedy = nn.functional.one_hot(best, self.actions)
        return ((1 - self.epsilon) * greedy + self.epsilon / self.actions).log()

    def description(self) -> dict[str, Any]:
        return {**super().description(), "quantiles": self.quantiles}

    @classmethod
    def from_description(cls, observation_size: int, actions: int, description: Mapping[str, Any]) -> Self:
        hidden = [int(width) for width in description["hidden"]]
        return cls(observation_size, actions, hidden, quantiles=int(description["quantiles"]))


def dueling(values: Tensor, advantages: Tensor) -> Tensor:
    """Q(s, a) = V(s) + A(s, a) − mean_a' A(s, a'), [..., A, N] of values [..., 1, N] and advantages [..., A, N]."""
    return values + advantages - advantages.mean(dim=-2, keepdim=True)


ARCHITECTURES: Mapping[str, type[Network]] = {one.architecture: one for one in (ActorCritic, Actor, DuelingQ)}
"""By the name that policy files give them."""


def _layers(
    widths: Sequence[int], activation: Callable[[], nn.Module], generator: torch.Generator | None
) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [_linear(inputs, outputs, math.sqrt(2), generator), activation()]
    return nn.Sequential(*layers)


def _linear(inputs: int, outputs: int, gain: float, generator: torch.Generator | None) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain, generator)
    nn.init.zeros_(layer.bias)
    return layer


def _normed_layers(widths: Sequence[int], generator: torch.Generator | None) -> nn.Sequential:
    """Linear, layer norm and ReLU, layer by layer; the last one linear alone."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        linear = nn.Linear(inputs, outputs)
        nn.init.xavier_uniform_(linear.weight, generator=generator)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.LayerNorm(outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-2])
