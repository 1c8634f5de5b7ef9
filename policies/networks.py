"""Networks that can be a policy."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, create_model
from torch import Tensor, nn

from ..common.settings import Width
from ..envs.spec import ObservationSpec
from .dense_layers import DenseLayers, Tanh
from .devices import WEIGHTS, Undisturbed, undisturbed
from .encoders import MLP, ObservationScaler, PixelScaler, orthogonal_linear
from .sizes import HIDDEN, LONGEST_PERIOD, NATURE, Convolutions

State = tuple[Tensor, ...]
"""The state of a recurrent policy, tensors [n, ...]: row i is the memory of game i. A memoryless policy's is the empty
tuple, which all functions of states pass through."""

StateArray = NDArray[np.float32 | np.int64]
ArrayState = tuple[StateArray, ...]
"""The same as arrays on the CPU, for rollouts, collectors and checkpoints."""

Rows = slice | NDArray[np.int64] | NDArray[np.bool_]
"""Games, by a slice, by number, or by a mask."""

Part = TypeVar("Part", Tensor, StateArray)

Activation = type[nn.ReLU] | type[Tanh]

SCALED_LIMIT = 8.0
"""Bound of the scaled observations, in standard deviations, in networks with tanh layers. A number that is nearly
always 0 (the hurdle, out of sight) has a tiny deviation at first."""


def bounded(scaled: Tensor, observation: ObservationSpec) -> Tensor:
    """Scaled observations within ±`SCALED_LIMIT`; pictures are returned as they are."""
    return scaled if observation.dtype == "uint8" else scaled.clamp(-SCALED_LIMIT, SCALED_LIMIT)


KINDS: Mapping[str, Any] = {
    "hidden": Annotated[list[Width], Field(max_length=64)],
    "memory": Width,
    "latent": Width,
    "period": Annotated[int, Field(ge=1, le=LONGEST_PERIOD)],
    "memory_slots": Annotated[int, Field(ge=0, le=4096)],
    "members": Annotated[int, Field(ge=1, le=1000)],
    "dueling": bool,
    "layer_norm": bool,
    "convolutions": Convolutions,
}
"""Networks that a file may describe, by name."""


class Described:
    """Base class of networks that a file describes by arguments of their constructor.

    described: the names of these arguments, which are attributes, too. Only networks of pictures describe
    `convolutions`.
    """

    observation: ObservationSpec
    described: ClassVar[Sequence[str]] = ()

    def description(self) -> dict[str, object]:
        """The settings of the architecture, as plain data."""
        names = (name for name in self.described if name != "convolutions" or self.observation.is_image)
        return {name: _plain(getattr(self, name)) for name in names}

    @classmethod
    def arguments(cls, description: Mapping[str, Any]) -> dict[str, Any]:
        """The constructor's arguments in a file's description. Raises ValueError for a wrong one."""
        fields: Any = {name: (KINDS[name], NATURE if name == "convolutions" else ...) for name in cls.described}
        return dict(create_model(cls.__name__, __config__=ConfigDict(strict=True), **fields)(**description))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value.item() if isinstance(value, Tensor) else value


def _spec(observation: ObservationSpec | int) -> ObservationSpec:
    """An int n stands for observations float32 [n]."""
    return ObservationSpec((observation,)) if isinstance(observation, int) else observation


class Network(Described, nn.Module, metaclass=Undisturbed):
    """Base class of the networks of a `Policy`, which take raw observations on any device and scale them themselves.

    A memoryless network has `logits`; one with a memory has `initial_state` and `step` instead. The constructor with
    the `arguments` in its `description` builds an untrained copy. Observations are rows, [..., observation.size],
    float32 or uint8.
    """

    architecture: ClassVar[str]
    """The name in policy files; `files.ARCHITECTURES` has the class by it."""

    judging: ClassVar[tuple[str, ...]] = ()
    """Names of the parts that only estimate values, on which no decision depends."""

    def __init__(self, observation: ObservationSpec | int, actions: int, hidden: Sequence[int] = ()) -> None:
        """observation: an int n stands for float32 [n]. hidden: widths of the layers."""
        super().__init__()
        self.observation, self.actions, self.hidden = _spec(observation), actions, tuple(hidden)
        self.scaler: ObservationScaler | PixelScaler = PixelScaler()
        if self.observation.dtype == "float32":
            # Rows of any shape: these networks do not depend on the layout.
            self.observation = ObservationSpec((self.observation.size,))
            self.scaler = ObservationScaler(self.observation.size)

    @classmethod
    def untrained(
        cls, settings: Any, observation: ObservationSpec | int, actions: int, generator: torch.Generator
    ) -> Self:
        """A new network with the settings that have the names of the constructor's arguments, such as `hidden`."""
        options = {name: getattr(settings, name) for name in cls.described if hasattr(settings, name)}
        return cls(observation, actions, **{"generator": generator, **options})

    def layer_input(self, observations: Tensor) -> Tensor:
        """Inputs of the first layer: scaled numbers, or the bytes of pictures, which the convolutions scale."""
        unscaled = self.observation.is_image and observations.dtype == torch.uint8
        return observations if unscaled else self.scaler(observations)

    def logits(self, observations: Tensor) -> Tensor:
        """Logits of the actions' probabilities, [..., actions], of raw observations."""
        raise NotImplementedError(f"{type(self).__name__} has a state: call step")

    def initial_state(self, n: int) -> State:
        """The state at the beginning of n episodes, tensors [n, ...]; empty for a memoryless network."""
        return ()

    def step(self, observations: Tensor, state: State) -> tuple[Tensor, State]:
        """One decision in each of n games: logits [n, actions] and the following state.

        observations [n, ...] of any shape, flattened to rows; state as `initial_state` or the step before gave it.
        """
        return self.logits(observations.flatten(1)), state

    def feed(self, state: State, actions: Tensor, rewards: Tensor) -> State:
        """The state after the actions that were taken, int64 [n], and their rewards, float32 [n].

        Called after every `step`, before rows whose episode ended are reset. Only networks that observe their last
        action or reward need it.
        """
        return state


class TrunkedPolicy(Network):
    """Base class of networks with a trunk and a policy head on its features.

    Weights are orthogonal with gain √2 in the trunk and 0.01 in the head, so that the initial policy is nearly uniform;
    biases are zero. For images the `convolutions` of `CONVOLUTIONS` come first.
    """

    described = ("hidden", "convolutions")
    activation: ClassVar[Activation]
    bounds: ClassVar[bool] = False
    """True if scaled observations are clipped to ±`SCALED_LIMIT`."""

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
        convolutions: str = NATURE,
    ) -> None:
        super().__init__(observation, actions, hidden)
        self.convolutions = convolutions
        self.trunk = MLP(self.observation, self.hidden, self.activation, generator, convolutions)
        self.policy_head = orthogonal_linear(self.trunk.width, actions, 0.01, generator)
        self.add_heads(generator)

    def add_heads(self, generator: torch.Generator | None) -> None:
        """Make the heads other than the policy's."""

    def trunk_input(self, observations: Tensor, noise: Tensor | None = None) -> Tensor:
        """Inputs of the trunk, [..., observation.size], from raw observations; noise: added to them once scaled."""
        scaled = self.layer_input(observations) if noise is None else self.scaler(observations).add_(noise)
        return bounded(scaled, self.observation) if self.bounds else scaled

    def features(self, observations: Tensor) -> Tensor:
        """Inputs of the heads, [..., width], from raw observations."""
        features: Tensor = self.trunk(self.trunk_input(observations))
        return features

    def logits(self, observations: Tensor) -> Tensor:
        logits: Tensor = self.policy_head(self.features(observations))
        return logits

    def dense_layers(self) -> DenseLayers | None:
        """The policy's logits of inputs `trunk_input` without autograd; None with convolutions."""
        return DenseLayers.of([*self.trunk, self.policy_head])


class ActorCritic(TrunkedPolicy):
    """ReLU layers shared by a policy head and a Q head, as in ACER with discrete actions (Wang et al. 2017).

    The Q head is initialised as the policy head is. V(s) = Σ_a π(a|s) Q(s, a) needs no separate head.
    """

    architecture = "actor-critic"
    judging = ("q_head",)
    activation: ClassVar[Activation] = nn.ReLU

    def add_heads(self, generator: torch.Generator | None) -> None:
        self.q_head = orthogonal_linear(self.trunk.width, self.actions, 0.01, generator)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits and Q values, both [..., actions], of raw observations [..., observation.size]."""
        features = self.features(observations)
        return self.policy_head(features), self.q_head(features)


class Actor(TrunkedPolicy):
    """Tanh layers and a policy head: PPO's policy, whose values are learned by a separate network (`Values`)."""

    architecture = "actor"
    activation: ClassVar[Activation] = Tanh
    bounds = True


class ValuedActor(Actor):
    """An `Actor` with ReLU layers and an additional head for V(s), as for PPO on Atari's games (Huang et
    al. 2022). The value head has gain 1."""

    architecture = "valued-actor"
    judging = ("value_head",)
    activation: ClassVar[Activation] = nn.ReLU

    def add_heads(self, generator: torch.Generator | None) -> None:
        self.value_head = orthogonal_linear(self.trunk.width, 1, 1.0, generator)


class TanhActorCritic(ActorCritic):
    """An `ActorCritic` with the layers of an `Actor`, which ACER thereby continues."""

    architecture = "tanh-actor-critic"
    activation: ClassVar[Activation] = Tanh
    bounds = True


Kind = TypeVar("Kind", bound=TrunkedPolicy)


def with_policy_of(network: TrunkedPolicy, kind: type[Kind], generator: torch.Generator) -> Kind:
    """A network of another kind, whose layers have the same activation, with the policy of this one in copied weights;
    its other heads are new.

    Where only one of both clips observations, those beyond ±`SCALED_LIMIT` may have other probabilities.
    """
    copy = kind(network.observation, network.actions, network.hidden, generator, network.convolutions)
    copy.to(next(network.parameters()).device)
    for part in ("scaler", "trunk", "policy_head"):
        getattr(copy, part).load_state_dict(getattr(network, part).state_dict())
    return copy


def with_q_head(actor: Actor, generator: torch.Generator) -> ActorCritic:
    """The policy of an `Actor` with a new Q head; the value head of a `ValuedActor` is left out."""
    return with_policy_of(actor, ActorCritic if isinstance(actor, ValuedActor) else TanhActorCritic, generator)


class Values(Described, nn.Module, metaclass=Undisturbed):
    """A separate network for a policy's V(s): tanh layers over the policy's `layer_input`; gain 1 in the head."""

    described = ("hidden", "convolutions")

    def __init__(
        self,
        observation: ObservationSpec | int,
        hidden: Sequence[int],
        generator: torch.Generator | None = None,
        convolutions: str = NATURE,
    ) -> None:
        super().__init__()
        self.observation, self.hidden, self.convolutions = _spec(observation), tuple(hidden), convolutions
        self.trunk = MLP(self.observation, hidden, Tanh, generator, convolutions)
        self.head = orthogonal_linear(self.trunk.width, 1, 1.0, generator)

    def features(self, scaled: Tensor) -> Tensor:
        """Inputs of the head, [..., width], from scaled observations."""
        features: Tensor = self.trunk(bounded(scaled, self.observation))
        return features

    def forward(self, scaled: Tensor) -> Tensor:
        """V(s), [...], of scaled observations [..., observation.size]."""
        values: Tensor = self.head(self.features(scaled))
        return values.squeeze(-1)


@undisturbed
def feed_arrays(
    network: Network, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.floating]
) -> ArrayState:
    """`Network.feed` for arrays on the CPU, [n] both; the state of a memoryless network stays as it is."""
    if not state:
        return state
    device = next(network.parameters()).device
    with torch.inference_mode():
        a, r = torch.from_numpy(actions).to(device), torch.from_numpy(rewards).to(device, WEIGHTS)
        return to_arrays(network.feed(to_tensors(state, device), a, r))


def reset_rows(state: tuple[Part, ...], initial: tuple[Part, ...], begins: NDArray[np.bool_]) -> tuple[Part, ...]:
    """The state with the rows of `initial` where an episode begins, bool [n]. Gradients pass through both."""
    return tuple(_where(begins, first, part) for part, first in zip(state, initial, strict=True))


def select_rows(state: tuple[Part, ...], rows: Rows) -> tuple[Part, ...]:
    """The rows of a slice, of numbers int [m] or of a mask bool [n]."""
    return tuple(part[rows] for part in state)


def put_rows(state: ArrayState, rows: Rows, values: ArrayState) -> ArrayState:
    """A copy of the state with `values` in these rows: the inverse of `select_rows`."""
    copies = tuple(part.copy() for part in state)
    for copy, value in zip(copies, values, strict=True):
        copy[rows] = value
    return copies


def concatenate_rows(states: Sequence[ArrayState]) -> ArrayState:
    """The rows of several states, at least one, in order."""
    return tuple(np.concatenate(parts) for parts in zip(*states, strict=True))


def to_tensors(state: ArrayState, device: torch.device | None = None) -> State:
    """A copy for a network on this device."""
    return tuple(torch.tensor(part, device=device) for part in state)


def to_arrays(state: State) -> ArrayState:
    """A copy on the CPU, without gradients."""
    return tuple(part.detach().cpu().numpy().copy() for part in state)


def _where(rows: NDArray[np.bool_], part: Part, other: Part) -> Part:
    mask = rows.reshape(-1, *[1] * (other.ndim - 1))
    if isinstance(other, Tensor):
        return torch.where(torch.from_numpy(mask).to(other.device), part, other)
    return np.where(mask, part, other)
