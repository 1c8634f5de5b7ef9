"""Networks of Q values that act as policies, single or as members of an ensemble that are computed together."""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..common.errors import BadInput
from ..envs.spec import ObservationSpec
from .dense_layers import DenseLayers
from .devices import WEIGHTS
from .encoders import Convolutions, relu_layers
from .networks import Network
from .sizes import HIDDEN, NATURE


class MemberLinear(nn.Module):
    """A linear layer for each member, [M, rows, inputs] → [M, rows, outputs]; Xavier weights, biases zero."""

    def __init__(self, members: int, inputs: int, outputs: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, inputs, outputs, dtype=WEIGHTS))
        self.bias = nn.Parameter(torch.zeros(members, 1, outputs, dtype=WEIGHTS))
        for weight in self.weight:
            nn.init.xavier_uniform_(weight, generator=generator)

    def forward(self, rows: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, rows, self.weight)


class MemberNorm(nn.Module):
    """Layer normalisation with a gain and a shift for each member, [M, rows, size]."""

    def __init__(self, members: int, size: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(members, 1, size, dtype=WEIGHTS))
        self.shift = nn.Parameter(torch.zeros(members, 1, size, dtype=WEIGHTS))

    def forward(self, rows: Tensor) -> Tensor:
        normed = nn.functional.layer_norm(rows, rows.shape[-1:])
        return torch.addcmul(self.shift, normed, self.gain)


class Ensemble(nn.Sequential):
    """Linear, layer norm and ReLU for each width but the last, which is linear alone: [..., size] → [M, ..., width]."""

    def __init__(self, members: int, widths: Sequence[int], generator: torch.Generator | None = None) -> None:
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [MemberLinear(members, inputs, outputs, generator), MemberNorm(members, outputs), nn.ReLU()]
        super().__init__(*layers[:-2])
        self.members = members

    def forward(self, rows: Tensor) -> Tensor:
        flat = rows.reshape(-1, rows.shape[-1])
        outputs: Tensor = super().forward(flat.expand(self.members, *flat.shape))  # type: ignore[no-untyped-call]
        return outputs.view(self.members, *rows.shape[:-1], -1)


class EpsilonGreedy(Network):
    """Base class of networks of Q values, `forward`, that act ε-greedily by them.

    π(a|s) = (1 − ε)·1{a = argmax Q(s, ·)} + ε/A, exactly; of equal Q values the first counts as the argmax. ε is a
    buffer, so files keep the last ε; greedy play is argmax Q.
    """

    epsilon: Tensor

    def __init__(self, observation: ObservationSpec | int, actions: int, hidden: Sequence[int]) -> None:
        super().__init__(observation, actions, hidden)
        self.register_buffer("epsilon", torch.tensor(0.0, dtype=WEIGHTS))

    def logits(self, observations: Tensor) -> Tensor:
        greedy = nn.functional.one_hot(self(observations).argmax(dim=-1), self.actions)
        return ((1 - self.epsilon) * greedy + self.epsilon / self.actions).log()


class QNetwork(EpsilonGreedy):
    """Q values. For images `convolutions` come first ("nature": Mnih et al. 2015), then layers of the widths `hidden`.

    `dueling`: two separate stacks of layers, for V(s) and the advantages (Wang et al. 2016). `layer_norm`: each hidden
    layer is linear, layer norm, ReLU. Weights are Xavier's (orthogonal in the convolutions), biases zero. The published
    runner has both (71 → 256 → 128 → 11 and 1: 105,740 parameters).
    """

    architecture = "q"
    described: ClassVar[Sequence[str]] = ("hidden", "dueling", "layer_norm", "convolutions")

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
        *,
        dueling: bool = False,
        layer_norm: bool = False,
        convolutions: str = NATURE,
    ) -> None:
        super().__init__(observation, actions, hidden)
        self.convolutions, self.dueling, self.layer_norm = convolutions, dueling, layer_norm
        pictures = Convolutions(self.observation, generator, convolutions) if self.observation.is_image else None
        self.pictures = nn.Identity() if pictures is None else pictures
        size = self.observation.size if pictures is None else pictures.width
        if dueling:
            self.value = relu_layers((size, *self.hidden, 1), generator, layer_norm)
        self.advantage = relu_layers((size, *self.hidden, actions), generator, layer_norm)

    def forward(self, observations: Tensor) -> Tensor:
        """Q(s, ·), [..., actions], of raw observations [..., observation.size]."""
        features = self.pictures(self.layer_input(observations))
        advantages: Tensor = self.advantage(features)
        if not self.dueling:
            return advantages
        return dueling(self.value(features).unsqueeze(-1), advantages.unsqueeze(-1)).squeeze(-1)

    def dense_layers(self) -> DenseLayers | None:
        """Q(s, ·) of inputs `layer_input` without autograd; None if there is more than plain layers."""
        plain = not self.dueling and not self.observation.is_image
        return DenseLayers.of([*self.advantage]) if plain else None


class EnsembleQ(EpsilonGreedy):
    """Q values of several members, each with layers of its own: linear, layer norm, ReLU (RLPD, Ball et al. 2023).

    Q(s, a) is the mean over the members. Weights are Xavier's, biases zero. Raises BadInput for pictures.
    """

    architecture = "ensemble-q"
    described = ("hidden", "members")

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        generator: torch.Generator | None = None,
        members: int = 5,
    ) -> None:
        super().__init__(observation, actions, hidden)
        if self.observation.dtype != "float32":
            raise BadInput(
                f"observations {self.observation}: an ensemble takes numbers, not pictures; use algorithm=dqn"
            )
        self.members = members
        self.layers = Ensemble(members, (self.observation.size, *self.hidden, actions), generator)

    def member_values(self, observations: Tensor) -> Tensor:
        """Q_i(s, ·) of each member, [members, ..., actions], of raw observations [..., observation.size]."""
        values: Tensor = self.layers(self.scaler(observations))
        return values

    def forward(self, observations: Tensor) -> Tensor:
        """Q(s, ·), [..., actions], of raw observations [..., observation.size]."""
        return self.member_values(observations).mean(0)


def epsilon_greedy(q: NDArray[np.float32], epsilon: NDArray[np.float32]) -> NDArray[np.float32]:
    """π(·|s), [n, A], of the policy (1 − ε)·1{a = argmax Q(s, ·)} + ε/A, from values [A, n]."""
    actions, n = q.shape
    probabilities = np.full((n, actions), epsilon / actions, dtype=np.float32)
    probabilities[np.arange(n), q.argmax(0)] += 1 - epsilon
    return probabilities


def dueling(values: Tensor, advantages: Tensor) -> Tensor:
    """Q(s, a) = V(s) + A(s, a) − mean_a' A(s, a'), [..., A, N], from values [..., 1, N] and advantages [..., A, N]."""
    return values + advantages - advantages.mean(dim=-2, keepdim=True)
