"""A policy that can play: a network and the environment that it belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..envs.spec import EnvironmentSpec, ObservationSpec
from .networks import Network

ROWS = 64
"""Observations of one network call. Fewer are padded to it, because a matrix product's last bits depend on its size."""


@dataclass(frozen=True)
class Policy:
    """π(a|s) of a network, with what is needed to play it again.

    `training` says how the policy was made (command, settings, seed); it travels with the file and is never read back
    by the program.
    """

    network: Network
    environment: EnvironmentSpec
    observation: ObservationSpec
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.observation.size != self.network.observation_size:
            raise ValueError(
                f"a network of {self.network.observation_size} inputs cannot see observations {self.observation}"
            )

    @property
    def actions(self) -> int:
        """Number of actions, A."""
        return self.network.actions

    def require_fit(self, observation: ObservationSpec, actions: int, name: str, other: str) -> None:
        """Refuse a policy (called `name`) for an environment or dataset (called `other`) of other shapes."""
        mine, theirs = (self.observation, self.actions), (observation, actions)
        if mine != theirs:
            raise BadInput(
                f"{name}: the policy sees observations {mine[0]} and has {mine[1]} actions, "
                f"but {other} has {theirs[0]} and {theirs[1]} actions; give a policy made for it"
            )

    def probabilities(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """π(·|s), float32 [n, A], of observations [n, *shape].

        Rows go through the network `ROWS` at a time, the last block padded, so that a row's probabilities are the same
        to the bit whatever its neighbours and however many there are (for layers whose widths are multiples of 16).
        """
        device = next(self.network.parameters()).device
        rows = np.ascontiguousarray(observations, dtype=np.float32).reshape(len(observations), -1)
        result = np.empty((len(rows), self.actions), dtype=np.float32)
        with torch.inference_mode():
            for start in range(0, len(rows), ROWS):
                block = rows[start : start + ROWS]
                padded = np.zeros((ROWS, rows.shape[1]), dtype=np.float32)
                padded[: len(block)] = block
                logits = self.network.logits(torch.from_numpy(padded).to(device))
                result[start : start + ROWS] = torch.softmax(logits, dim=-1)[: len(block)].cpu().numpy()
        return result

    def act(
        self, observations: NDArray[np.float32], generator: np.random.Generator, greedy: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Actions int64 [n], and the probabilities float32 [n, A] that they were drawn with (one-hot if greedy)."""
        return choose(self.probabilities(observations), None if greedy else generator.random(len(observations)))


def choose(
    probabilities: NDArray[np.float32], uniforms: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Actions int64 [n] by inversion of the distribution function, or the most probable ones without `uniforms`.

    Also returns the probabilities that the actions were drawn with: those given, or one-hot rows. An action of
    probability zero is never drawn.
    """
    if uniforms is None:
        actions = probabilities.argmax(axis=1)
        return actions, np.eye(probabilities.shape[1], dtype=np.float32)[actions]
    cumulative = np.cumsum(probabilities, axis=1, dtype=np.float64)
    # Scaled by the actual total, which is one only to float32's precision, and kept below it where rounding reaches it.
    total = cumulative[:, -1]
    points = np.minimum(uniforms * total, np.nextafter(total, 0))
    actions = (cumulative <= points[:, None]).sum(axis=1)
    return actions, probabilities
