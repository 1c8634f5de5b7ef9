"""Recurrent networks: policies with a memory."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..envs.spec import ObservationSpec
from .devices import WEIGHTS
from .encoders import MLP, orthogonal_linear
from .networks import LayeredNetwork, bounded
from .sizes import HIDDEN, MEMORY
from .state import State
from .tanh import Tanh


class RecurrentActorCritic(LayeredNetwork):
    """Tanh layers, an LSTM, and heads for the policy and for V(s), as in IMPALA (Espeholt et al. 2018).

    The state is the LSTM's output h and cell c, [n, memory] each, zero at the start of an episode. Weights are
    orthogonal, with gain √2 in the layers, 1 in the LSTM and the value head, 0.01 in the policy head; biases are zero,
    in the LSTM's forget gate 1. Scaled observations are clipped to ±`SCALED_LIMIT`.
    """

    architecture = "recurrent-actor-critic"
    judging = ("value_head",)
    described = ("hidden", "memory")

    def __init__(
        self,
        observation: ObservationSpec | int,
        actions: int,
        hidden: Sequence[int] = HIDDEN,
        memory: int = MEMORY,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(observation, actions, hidden)
        self.memory = memory
        self.trunk = MLP(self.observation, self.hidden, Tanh, generator)
        self.core = lstm_cell(self.trunk.width, memory, generator)
        self.policy_head = orthogonal_linear(memory, actions, 0.01, generator)
        self.value_head = orthogonal_linear(memory, 1, 1.0, generator)

    def initial_state(self, n: int) -> State:
        zeros = torch.zeros(n, self.memory, dtype=WEIGHTS, device=self.policy_head.weight.device)
        return zeros, zeros.clone()

    def step(self, observations: Tensor, state: State) -> tuple[Tensor, State]:
        state = self.remember(self.encode(observations), state)
        return self.policy_head(state[0]), state

    def encode(self, observations: Tensor) -> Tensor:
        """Features, [n, width], of raw observations [n, ...]."""
        features: Tensor = self.trunk(bounded(self.layer_input(observations.flatten(1)), self.observation))
        return features

    def remember(self, features: Tensor, state: State) -> State:
        """The state after seeing features [n, width]; the heads read its first part, h [n, memory]."""
        after: tuple[Tensor, Tensor] = self.core(features, state)
        return after


def lstm_cell(inputs: int, units: int, generator: torch.Generator | None) -> nn.LSTMCell:
    """An LSTM with orthogonal weights of gain 1, and biases of zero, in the forget gate 1."""
    cell = nn.LSTMCell(inputs, units, dtype=WEIGHTS)
    for weight in (cell.weight_ih, cell.weight_hh):
        nn.init.orthogonal_(weight, 1.0, generator)
    nn.init.zeros_(cell.bias_hh)
    nn.init.zeros_(cell.bias_ih)
    with torch.no_grad():
        cell.bias_ih[units : 2 * units] = 1.0  # PyTorch's order of the gates: input, forget, cell, output
    return cell
