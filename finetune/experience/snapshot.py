"""A copy of the policy for live play, which stays fixed while the learner continues."""

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...policies.networks import Network, feed_arrays
from ...policies.state import ArrayState, to_arrays, to_tensors


class PolicySnapshot:
    """π(·|s) of a network at the time of the last `take`; on the CPU, where the games are."""

    def __init__(self, network: Network) -> None:
        self._network = copy.deepcopy(network).cpu().requires_grad_(False)

    @torch.no_grad()
    def take(self, network: Network) -> None:
        """Copy the weights of the network."""
        mine, theirs = ([*one.parameters(), *one.buffers()] for one in (self._network, network))
        torch._foreach_copy_(mine, theirs)

    def initial_state(self, n: int) -> ArrayState:
        """The policy's state at the start of n episodes."""
        return to_arrays(self._network.initial_state(n))

    def step(self, observations: NDArray[Any], state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        """π(·|s) float32 [n, A] of observations [n, *shape], and the following state."""
        rows = torch.from_numpy(observations)
        with torch.inference_mode():
            logits, following = self._network.step(rows, to_tensors(state))
            return torch.softmax(logits, dim=-1).numpy(), to_arrays(following)

    def feed(self, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.float32]) -> ArrayState:
        """The state after the actions that were taken, [n], and their rewards, [n]; for the next `step`."""
        return feed_arrays(self._network, state, actions, rewards)
