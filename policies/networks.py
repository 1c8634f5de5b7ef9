"""Networks that can be a policy."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..common.checks import show
from ..common.errors import BadInput
from ..common.reading import whole_number
from ..envs.spec import ObservationSpec
from .encoders import CONVOLUTIONS, NATURE, Convolutions, normed_layers, orthogonal_linear, plain_layers, trunk_for
from .ensemble import Ensemble
from .scaling import ObservationScaler, PixelScaler
from .state import ArrayState, State, to_arrays, to_tensors

HIDDEN = (256, 128)
"""Layer widths of the published runner (71 → 256 → 128 → 11 and 11: 54,166 parameters)."""

Activation = type[nn.ReLU] | type[nn.Tanh]

SCALED_LIMIT = 8.0
"""Bound of the scaled observations, in standard deviations, in networks with tanh layers. A number that is nearly
always 0 (the hurdle, out of sight) has a tiny deviation at first."""


def bounded(scaled: Tensor, observation: ObservationSpec) -> Tensor:
    """Scaled observations within ±`SCALED_LIMIT`; pictures are returned as they are."""
    return scaled if observation.dtype == "uint8" else scaled.clamp(-SCALED_LIMIT, SCALED_LIMIT)


MOST_LAYERS, WIDEST, MOST_QUANTILES, MOST_MEMBERS = 64, 65_536, 10_000, 1000
"""Limits on the sizes that a file may describe."""


class Network(nn.Module):
    """Base class of the networks of a `Policy`.

    A subclass takes raw observations [..., *observation.shape] of type `observation.dtype`, on any device, and scales
    them itself. A memoryless network has `logits`; one with a memory has `initial_state` and `step` instead. With its
    `description`, `from_description` builds an untrained copy.
    """

    architecture: ClassVar[str]
    """The name in policy files; `architectures.ARCHITECTURES` has the class by it."""

    def __init__(self, observation: ObservationSpec | int, actions: int) -> None:
        """An int n stands for observations float32 [n]."""
        super().__init__()
        self.observation = ObservationSpec((observation,)) if isinstance(observation, int) else observation
        self.actions = actions

    def logits(self, observations: Tensor) -> Tensor:
        """Logits of the actions' probabilities, [..., actions], of raw observations."""
        raise NotImplementedError(f"{type(self).__name__} has a state: call step")

    def initial_state(self, n: int) -> State:
        """The state at the beginning of n episodes, tensors [n, ...]; empty for a memoryless network."""
        return ()

    def step(self, observations: Tensor, state: State) -> tuple[Tensor, State]:
        """One decision in each of n games: logits [n, actions] and the following state.

        observations [n, *observation.shape]; state as `initial_state` or the step before gave it.
        """
        return self.logits(observations), state

    def feed(self, state: State, actions: Tensor, rewards: Tensor) -> State:
        """The state after the actions that were taken, int64 [n], and their rewards, float32 [n].

        Called after every `step`, before rows whose episode ended are reset. Only networks that observe their last
        action or reward need it.
        """
        return state

    def description(self) -> dict[str, Any]:
        """The settings of the architecture, as plain data."""
        return {}

    @classmethod
    def from_description(cls, observation: ObservationSpec, actions: int, description: Mapping[str, Any]) -> Self:
        """An untrained network of this description. Raises KeyError, TypeError or ValueError for a wrong one."""
        return cls(observation, actions)


class LayeredNetwork(Network):
    """Base class of the networks here: a scaler, convolutions for images, then layers of the widths `hidden`.

    Takes observations as rows, [..., observation_size], float32 or uint8.
    """

    def __init__(self, observation: ObservationSpec | int, actions: int, hidden: Sequence[int]) -> None:
        super().__init__(observation, actions)
        self.scaler: ObservationScaler | PixelScaler
        if self.observation.dtype == "float32":
            # Rows of any shape: these networks do not depend on the layout.
            self.observation = ObservationSpec((self.observation.size,))
            self.scaler = ObservationScaler(self.observation.size)
        else:
            self.scaler = PixelScaler()
        self.hidden = tuple(hidden)

    @property
    def observation_size(self) -> int:
        """Numbers in one observation."""
        return self.observation.size

    def layer_input(self, observations: Tensor) -> Tensor:
        """Inputs of the first layer: scaled numbers, or the bytes of pictures, which the convolutions scale."""
        unscaled = self.observation.is_image and observations.dtype == torch.uint8
        return observations if unscaled else self.scaler(observations)

    def step(self, observations: Tensor, state: State) -> tuple[Tensor, State]:
        """Like `Network.step`; observations [n, ...] of any shape are flattened to rows."""
        return self.logits(observations.flatten(1)), state

    def description(self) -> dict[str, Any]:
        return {"hidden": list(self.hidden)}

    @classmethod
    def from_description(cls, observation: ObservationSpec, actions: int, description: Mapping[str, Any]) -> Self:
        return cls(observation, actions, hidden_widths(description))


class TrunkedPolicy(LayeredNetwork):
    """Base class of networks with a trunk and a policy head on its features.

    Weights are orthogonal with gain √2 in the trunk and 0.01 in the head, so that the initial policy is nearly uniform;
    biases are zero. For images the `convolutions` of `CONVOLUTIONS` come first.
    """

    activation: ClassVar[Activation]

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
        convolutions: str = NATURE,
    ) -> None:
        super().__init__(observation, actions, hidden)
        self.convolutions_name = convolutions
        self.trunk = trunk_for(self.observation, self.hidden, self.activation, generator, convolutions)
        self.policy_head = orthogonal_linear(self.trunk.width, actions, 0.01, generator)
        self.add_heads(generator)

    def add_heads(self, generator: torch.Generator | None) -> None:
        """Make the heads besides that of the policy."""

    def features(self, observations: Tensor) -> Tensor:
        """Inputs of the heads, [..., width], from raw observations."""
        features: Tensor = self.trunk(self.layer_input(observations))
        return features

    def logits(self, observations: Tensor) -> Tensor:
        logits: Tensor = self.policy_head(self.features(observations))
        return logits

    def description(self) -> dict[str, Any]:
        described = super().description()
        return {**described, "convolutions": self.convolutions_name} if self.observation.is_image else described

    @classmethod
    def from_description(cls, observation: ObservationSpec, actions: int, description: Mapping[str, Any]) -> Self:
        widths, convolutions = hidden_widths(description), convolutions_of(description)
        return cls(observation, actions, widths, convolutions=convolutions)


class ActorCritic(TrunkedPolicy):
    """ReLU layers shared by a policy head and a Q head, as in ACER with discrete actions (Wang et al. 2017).

    The Q head is initialised as the policy head is. V(s) = Σ_a π(a|s) Q(s, a) needs no separate head.
    """

    architecture = "actor-critic"
    activation: ClassVar[Activation] = nn.ReLU

    def add_heads(self, generator: torch.Generator | None) -> None:
        self.q_head = orthogonal_linear(self.trunk.width, self.actions, 0.01, generator)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits and Q values, both [..., actions], of raw observations [..., observation_size]."""
        features = self.features(observations)
        return self.policy_head(features), self.q_head(features)


class Actor(TrunkedPolicy):
    """Tanh layers and a policy head: PPO's policy, whose values are learned by a separate network (`Values`).

    Scaled observations are clipped to ±`SCALED_LIMIT`.
    """

    architecture = "actor"
    activation: ClassVar[Activation] = nn.Tanh

    def features(self, observations: Tensor) -> Tensor:
        features: Tensor = self.trunk(bounded(self.layer_input(observations), self.observation))
        return features


class ValuedActor(Actor):
    """An `Actor` with ReLU layers and a head for V(s) beside that of the policy, as PPO learns Atari's games (Huang et
    al. 2022). The value head has gain 1."""

    architecture = "valued-actor"
    activation: ClassVar[Activation] = nn.ReLU

    def add_heads(self, generator: torch.Generator | None) -> None:
        self.value_head = orthogonal_linear(self.trunk.width, 1, 1.0, generator)


class Values(nn.Module):
    """V(s) beside a policy: tanh layers over the policy's own `layer_input`; gain 1 in the head."""

    def __init__(
        self,
        observation: ObservationSpec | int,
        hidden: Sequence[int],
        generator: torch.Generator | None = None,
        convolutions: str = NATURE,
    ) -> None:
        """An int n stands for observations float32 [n]."""
        super().__init__()
        self.hidden = tuple(hidden)
        self.convolutions_name = convolutions
        self._observation = ObservationSpec((observation,)) if isinstance(observation, int) else observation
        self.trunk = trunk_for(self._observation, hidden, nn.Tanh, generator, convolutions)
        self.head = orthogonal_linear(self.trunk.width, 1, 1.0, generator)

    def features(self, scaled: Tensor) -> Tensor:
        """Inputs of the head, [..., width], from scaled observations."""
        features: Tensor = self.trunk(bounded(scaled, self._observation))
        return features

    def forward(self, scaled: Tensor) -> Tensor:
        """V(s), [...], of scaled observations [..., observation_size]."""
        values: Tensor = self.head(self.features(scaled))
        return values.squeeze(-1)

    def description(self) -> dict[str, Any]:
        """The settings of the network, as plain data."""
        described: dict[str, Any] = {"hidden": list(self.hidden)}
        return {**described, "convolutions": self.convolutions_name} if self._observation.is_image else described

    @classmethod
    def from_description(cls, observation: ObservationSpec, description: Mapping[str, Any]) -> Self:
        """An untrained network of this description. Raises KeyError, TypeError or ValueError for a wrong one."""
        return cls(observation, hidden_widths(description), convolutions=convolutions_of(description))


class QNetwork(LayeredNetwork):
    """Q values. For images `convolutions` come first ("nature": Mnih et al. 2015), then layers of the widths `hidden`.

    `dueling`: two separate stacks of layers, for V(s) and the advantages (Wang et al. 2016). `layer_norm`: each hidden
    layer is linear, layer norm, ReLU. `quantiles` N > 1: each Q value is the mean of N quantiles of the return. Weights
    are Xavier's (orthogonal in the convolutions), biases zero.

    As a policy it acts ε-greedily: π(a|s) = (1 − ε)·1{a = argmax Q(s, ·)} + ε/A, exactly; of equal Q values the first
    counts as the argmax. ε is a buffer, so files keep the last ε; greedy play is argmax Q.
    """

    architecture = "q"
    epsilon: Tensor

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
        quantiles: int = 1,
        *,
        dueling: bool = False,
        layer_norm: bool = False,
        convolutions: str = NATURE,
    ) -> None:
        super().__init__(observation, actions, hidden)
        self.convolutions_name = convolutions
        if quantiles < 1:
            raise ValueError(f"{quantiles} quantiles, expected at least 1")
        self.quantiles, self.dueling, self.layer_norm = quantiles, dueling, layer_norm
        size = self.observation_size
        if self.observation.is_image:
            self.convolutions: nn.Module = Convolutions(self.observation, generator, convolutions)
            size = self.convolutions.width
        else:
            self.convolutions = nn.Identity()
        layers = normed_layers if layer_norm else plain_layers
        if dueling:
            self.value = layers((size, *self.hidden, quantiles), generator)
        self.advantage = layers((size, *self.hidden, actions * quantiles), generator)
        self.register_buffer("epsilon", torch.tensor(0.0))

    def quantile_values(self, observations: Tensor) -> Tensor:
        """Quantiles of the return, [..., actions, quantiles], of raw observations [..., observation_size]."""
        features = self.convolutions(self.layer_input(observations))
        advantages: Tensor = self.advantage(features).unflatten(-1, (self.actions, self.quantiles))
        return dueling(self.value(features).unsqueeze(-2), advantages) if self.dueling else advantages

    def forward(self, observations: Tensor) -> Tensor:
        """Q(s, ·), [..., actions], of raw observations [..., observation_size]."""
        return self.quantile_values(observations).mean(-1)

    def logits(self, observations: Tensor) -> Tensor:
        return epsilon_greedy_logits(self(observations), self.epsilon)

    def description(self) -> dict[str, Any]:
        return {
            **super().description(),
            "quantiles": self.quantiles,
            "dueling": self.dueling,
            "layer_norm": self.layer_norm,
            "convolutions": self.convolutions_name,
        }

    @classmethod
    def from_description(cls, observation: ObservationSpec, actions: int, description: Mapping[str, Any]) -> Self:
        quantiles = whole_number(description["quantiles"], "quantiles", MOST_QUANTILES)
        options = {name: description[name] for name in ("dueling", "layer_norm")}
        for name, value in options.items():
            if not isinstance(value, bool):
                raise ValueError(f"{name} is {show(value)}, expected true or false")
        widths, convolutions = hidden_widths(description), convolutions_of(description)
        return cls(observation, actions, widths, quantiles=quantiles, convolutions=convolutions, **options)


class DuelingQ(QNetwork):
    """The published runner's Q network, dueling and with layer norm (71 → 256 → 128 → 11 and 1: 105,740 parameters)."""

    architecture = "dueling-q"

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
        quantiles: int = 1,
    ) -> None:
        super().__init__(observation, actions, hidden, generator, quantiles, dueling=True, layer_norm=True)

    def description(self) -> dict[str, Any]:
        return {"hidden": list(self.hidden), "quantiles": self.quantiles}

    @classmethod
    def from_description(cls, observation: ObservationSpec, actions: int, description: Mapping[str, Any]) -> Self:
        quantiles = whole_number(description["quantiles"], "quantiles", MOST_QUANTILES)
        return cls(observation, actions, hidden_widths(description), quantiles=quantiles)


class EnsembleQ(LayeredNetwork):
    """Q values of several members, each with layers of its own: linear, layer norm, ReLU (RLPD, Ball et al. 2023).

    Q(s, a) is the mean over the members. Weights are Xavier's, biases zero. As a policy it acts ε-greedily, as
    `DuelingQ` does.
    """

    architecture = "ensemble-q"
    epsilon: Tensor

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
        members: int = 5,
    ) -> None:
        super().__init__(observation, actions, hidden)
        if members < 1:
            raise ValueError(f"{members} members, expected at least 1")
        if self.observation.dtype != "float32":
            raise BadInput(
                f"observations {self.observation}: an ensemble takes numbers, not pictures; use algorithm=dqn"
            )
        self.members = members
        self.layers = Ensemble(members, (self.observation_size, *self.hidden, actions), generator)
        self.register_buffer("epsilon", torch.tensor(0.0))

    def member_values(self, observations: Tensor) -> Tensor:
        """Q_i(s, ·) of each member, [members, ..., actions], of raw observations [..., observation_size]."""
        values: Tensor = self.layers(self.scaler(observations))
        return values

    def forward(self, observations: Tensor) -> Tensor:
        """Q(s, ·), [..., actions], of raw observations [..., observation_size]."""
        return self.member_values(observations).mean(0)

    def logits(self, observations: Tensor) -> Tensor:
        return epsilon_greedy_logits(self(observations), self.epsilon)

    def description(self) -> dict[str, Any]:
        return {**super().description(), "members": self.members}

    @classmethod
    def from_description(cls, observation: ObservationSpec, actions: int, description: Mapping[str, Any]) -> Self:
        members = whole_number(description["members"], "members", MOST_MEMBERS)
        return cls(observation, actions, hidden_widths(description), members=members)


def feed_arrays(network: Network, state: ArrayState, actions: NDArray[Any], rewards: NDArray[Any]) -> ArrayState:
    """`Network.feed` for arrays on the CPU, [n] both; the state of a memoryless network stays as it is."""
    if not state:
        return state
    device = next(network.parameters()).device
    with torch.inference_mode():
        taken, earned = torch.from_numpy(actions).to(device), torch.from_numpy(rewards).to(device, torch.float32)
        return to_arrays(network.feed(to_tensors(state, device), taken, earned))


def epsilon_greedy_logits(q: Tensor, epsilon: Tensor) -> Tensor:
    """log π(·|s), [..., A], of the policy (1 − ε)·1{a = argmax Q(s, ·)} + ε/A."""
    actions = q.shape[-1]
    greedy = nn.functional.one_hot(q.argmax(dim=-1), actions)
    return ((1 - epsilon) * greedy + epsilon / actions).log()


def dueling(values: Tensor, advantages: Tensor) -> Tensor:
    """Q(s, a) = V(s) + A(s, a) − mean_a' A(s, a'), [..., A, N], from values [..., 1, N] and advantages [..., A, N]."""
    return values + advantages - advantages.mean(dim=-2, keepdim=True)


def hidden_widths(description: Mapping[str, Any]) -> list[int]:
    """The widths of the hidden layers that a file describes; ValueError for anything else."""
    hidden = description["hidden"]
    if not isinstance(hidden, list) or len(hidden) > MOST_LAYERS:
        raise ValueError(f"hidden is {show(hidden)}, expected a list of at most {MOST_LAYERS} widths")
    return [whole_number(width, "hidden", WIDEST) for width in hidden]


def convolutions_of(description: Mapping[str, Any]) -> str:
    """The name of the convolutions that a file describes; ValueError for one that is unknown."""
    name = description.get("convolutions", NATURE)  # older files lack it
    if name not in [*CONVOLUTIONS]:
        raise ValueError(f"convolutions is {show(name)}, expected one of {', '.join(CONVOLUTIONS)}")
    return str(name)
