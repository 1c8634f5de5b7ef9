"""Policies that agents imitate at first."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..envs.spec import EnvironmentSpec
from ..finetune.experience.snapshot import PolicySnapshot
from ..policies.policy import Policy
from .rival_races import View


class Teacher:
    """A policy without a memory, asked for its actions in an agent's games.

    Raises BadInput, naming the policy, if it has a memory or could not play the environment.
    """

    def __init__(self, policy: Policy, environment: EnvironmentSpec, name: str) -> None:
        if policy.network.initial_state(1):
            raise BadInput(f"{name}: a policy with a memory ({policy.network.architecture}), which cannot teach")
        self._columns = None
        if environment.capabilities.group > 1:
            self._columns = View.of(policy, environment, name).columns
        elif policy.environment.id != environment.id or policy.observation != environment.interface()[0]:
            raise BadInput(
                f"{name}: a policy of {policy.environment.id} with observations {policy.observation}; a teacher needs "
                f"{environment.id} and {environment.interface()[0]}"
            )
        self._player = PolicySnapshot(policy.network)

    def probabilities(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """π_T(·|s), float32 [n, k, A], of observations [n, k, *shape]."""
        n, k = observations.shape[:2]
        rows = observations.reshape(n * k, *observations.shape[2:])
        if self._columns is not None:
            rows = np.ascontiguousarray(rows[:, self._columns])
        found, _ = self._player.step(rows, ())
        return found.reshape(n, k, -1)
