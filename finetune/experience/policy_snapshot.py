"""The copy of a policy that plays while the policy learns."""

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...policies.cuda_graphs import CudaGraphs
from ...policies.dense_layers import DenseLayers
from ...policies.networks import Network, TrunkedPolicy, feed_arrays
from ...policies.q_networks import QNetwork, epsilon_greedy
from ...policies.state import ArrayState, to_arrays, to_tensors

CPU = torch.device("cpu")

WORTH_HOLDING = 8
"""Decisions between two `take`s from which it pays to lay the weights out for playing."""

WORTH_A_GPU = 2**18
"""Weights of a policy from which a GPU, where its learner has one, draws its actions; pictures are always worth it."""


def place_to_act(network: Network, learner: torch.device) -> torch.device:
    """The device that draws a network's actions: its learner's, if that is a CUDA GPU and the network is worth it."""
    wide = sum(one.numel() for one in network.parameters()) >= WORTH_A_GPU
    return learner if learner.type == "cuda" and (wide or network.observation.is_image) else CPU


class PolicySnapshot:
    """Copy of a network as of the last `take`, on the CPU, where the games run, unless `device` is given.

    live: the network itself, if it is there, for a learner that waits while it plays. decisions: those between
    two `take`s. From `WORTH_HOLDING` on, each `take` lays the weights out for playing, so a live network is taken, too.
    """

    def __init__(
        self, network: Network, live: bool = False, device: torch.device = CPU, decisions: int = WORTH_HOLDING
    ) -> None:
        itself = live and all(one.device.type == device.type for one in network.parameters())
        self._network = network if itself else copy.deepcopy(network).to(device).requires_grad_(False)
        self._device, self._holds = device, decisions >= WORTH_HOLDING
        self._prepare()

    def _prepare(self) -> None:
        self._dense: DenseLayers | None = None
        if isinstance(self._network, TrunkedPolicy | QNetwork) and self._device.type == "cpu":
            self._dense = self._network.dense_layers()
        self._hold()
        self._graphs = CudaGraphs(self._probabilities, list(self._network.parameters()))

    def __getstate__(self) -> dict[str, Any]:
        """The weights once, as a message to actors; what is made of them is made anew there."""
        return {"_network": self._network, "_device": self._device, "_holds": self._holds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    @torch.no_grad()
    def take(self, network: Network) -> None:
        """Copy the weights of the network."""
        if network is not self._network:
            mine, theirs = ([*one.parameters(), *one.buffers()] for one in (self._network, network))
            torch._foreach_copy_(mine, theirs)
        self._hold()

    def _hold(self) -> None:
        if self._dense is not None and self._holds:
            self._dense.hold()

    def initial_state(self, n: int) -> ArrayState:
        """The policy's state at the start of n episodes."""
        return to_arrays(self._network.initial_state(n))

    def step(self, observations: NDArray[Any], state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        """π(·|s) float32 [n, A] of observations [n, *shape], and the next state."""
        rows = torch.from_numpy(observations)
        with torch.inference_mode():
            if self._dense is not None and isinstance(self._network, QNetwork):
                q = self._dense.forward(self._network.layer_input(rows.flatten(1)))
                return epsilon_greedy(q.numpy(), self._network.epsilon.numpy()), state
            if self._dense is not None:
                assert isinstance(self._network, TrunkedPolicy)
                outputs = self._dense.forward(self._network.trunk_input(rows.flatten(1)))
                return torch.softmax(outputs, dim=0).numpy().T, state
            if not state:
                return self._graphs(None, rows.to(self._device)).cpu().numpy(), state
            logits, following = self._network.step(rows.to(self._device), to_tensors(state, self._device))
            return torch.softmax(logits, dim=-1).cpu().numpy(), to_arrays(following)

    def _probabilities(self, key: None, rows: Tensor) -> Tensor:
        """π(·|s), [n, A], of a memoryless network."""
        return torch.softmax(self._network.step(rows, ())[0], dim=-1)

    def feed(self, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.float32]) -> ArrayState:
        """The state for the next `step`, updated with the actions taken, [n], and their rewards, [n]."""
        return feed_arrays(self._network, state, actions, rewards)
