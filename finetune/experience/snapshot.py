"""A copy of the policy for live play, which stands still while the learner goes on."""

import copy

import numpy as np
import torch
from numpy.typing import NDArray

from ...policies.networks import Network


class PolicySnapshot:
    """π(·|s) of a network as it was when the copy was taken; on the CPU, where the games are."""

    def __init__(self, network: Network) -> None:
        self._network = copy.deepcopy(network).cpu().requires_grad_(False)

    @torch.no_grad()
    def take(self, network: Network) -> None:
        """Copy the network as it is now."""
        torch._foreach_copy_(list(self._network.parameters()), list(network.parameters()))
        torch._foreach_copy_(list(self._network.buffers()), list(network.buffers()))

    def __call__(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """float32 [n, A], of observations [n, *shape]."""
        rows = observations.reshape(len(observations), -1)
        with torch.inference_mode():
            return torch.softmax(self._network.logits(torch.from_numpy(rows)), dim=-1).numpy()
