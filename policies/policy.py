"""A policy: a network and the environment that it was made for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..common.errors import BadInput
from ..envs.observation import refuse_masked, without_tensors
from ..envs.spec import EnvironmentSpec, Observations, ObservationSpec
from .devices import undisturbed
from .networks import (
    ArrayState,
    Network,
    Values,
    concatenate_rows,
    feed_arrays,
    put_rows,
    select_rows,
    to_arrays,
    to_tensors,
)

ROWS, PICTURES = 64, 16
"""Rows of numbers in one network call, and pictures in one. Smaller calls are padded, because the last bits of a matrix
product depend on its size."""


@dataclass(frozen=True)
class Policy:
    """π(a|s) of a network, with all data needed to play it. Raises BadInput for observations of another
    size or type.

    A policy may have a state (`initial_state`, `step`); that of a memoryless one is empty. `values` are V(s) of the
    observations as the network's scaler scales them, if the policy's learner had a separate value network (PPO).
    `training` says how the policy was made (command, settings, seed); it is kept in the file, and nothing depends on
    it. `greedy`: commands play its most probable actions unless told otherwise; else its actions are drawn.
    `sharpness` k: π(a|s) is the network's probability to the power of k, normalised (its logits times k), so that the
    most probable actions become more so. Learning goes on from the network's own.
    """

    network: Network
    environment: EnvironmentSpec
    observation: ObservationSpec
    training: Mapping[str, Any] = field(default_factory=dict)
    values: Values | None = None
    greedy: bool = True
    sharpness: float = 1.0

    def __post_init__(self) -> None:
        spec = self.network.observation
        if (self.observation.size, self.observation.dtype) != (spec.size, spec.dtype):
            raise BadInput(f"a network for observations {spec} cannot take {self.observation}")

    @property
    def actions(self) -> int:
        """Number of actions, A."""
        return self.network.actions

    def require_fit(self, observation: ObservationSpec, actions: int, name: str, other: str) -> None:
        """Raise BadInput unless the policy, called `name`, fits the environment or dataset called `other`."""
        mine, theirs = (self.observation, self.actions), (observation, actions)
        if mine != theirs:
            raise BadInput(
                f"{name}: the policy sees observations {mine[0]} and has {mine[1]} actions, "
                f"but {other} has {theirs[0]} and {theirs[1]} actions; give a policy made for it"
            )

    @undisturbed
    def initial_state(self, n: int) -> ArrayState:
        """The state at the beginning of n episodes, arrays [n, ...]; empty for a memoryless policy."""
        return to_arrays(self.network.initial_state(n))

    @undisturbed
    def step(self, observations: Observations, state: ArrayState) -> tuple[NDArray[np.float32], ArrayState]:
        """One decision in each of n games: π(·|s), float32 [n, A], and the following state.

        observations [n, *shape]; state as `initial_state` or the step before gave it.

        Rows go through the network `ROWS` at a time (pictures: `PICTURES`), the last block padded, so that a row's
        probabilities do not depend, in any bit, on the other rows or on their number (for layers whose widths are
        multiples of 16).
        """
        observations = self._as_array(observations)
        spec = self.network.observation
        device = next(self.network.parameters()).device
        rows = np.ascontiguousarray(observations, dtype=spec.dtype).reshape(len(observations), *spec.shape)
        probabilities = np.empty((len(rows), self.actions), dtype=np.float32)
        following = []
        at_once = PICTURES if spec.is_image else ROWS
        initial = self.initial_state(at_once)
        with torch.inference_mode():
            for start in range(0, len(rows), at_once):
                block = slice(start, start + at_once)
                padded, filled = rows[block], slice(len(rows[block]))
                if len(padded) < at_once:
                    padded = np.concatenate([padded, spec.zeros(at_once - len(padded))])
                before = put_rows(initial, filled, select_rows(state, block))
                logits, after = self.network.step(torch.from_numpy(padded).to(device), to_tensors(before, device))
                probabilities[block] = torch.softmax(self.sharpness * logits, dim=-1)[filled].cpu().numpy()
                following.append(select_rows(to_arrays(after), filled))
        return probabilities, concatenate_rows(following) if following else state

    def _as_array(self, observations: Any) -> Observations:
        """The observations [n, *shape] as an array; BadInput unless they are of the policy's type, none masked."""
        refuse_masked(observations, "observations")
        spec = self.observation
        try:
            array: Observations = np.asarray(without_tensors(observations))
        except (TypeError, ValueError, RuntimeError):  # lists of different lengths, tensors without numbers
            array = np.empty((), dtype=object)
        fits = array.ndim > 0 and math.prod(array.shape[1:]) == spec.size
        kinds = "iub" if spec.dtype == "uint8" else "fiub"
        if fits and array.dtype.kind in kinds:
            return array
        alone = "; one observation alone is given as observation[None]" if array.shape == spec.shape else ""
        rows = ", ".join(["n", *map(str, spec.shape)])
        raise BadInput(
            f"observations are {array.dtype} {list(array.shape)}, but the policy sees {spec.dtype} [{rows}] of "
            f"{self.environment}{alone}; policy.environment.make() makes its environment"
        )

    def feed(self, state: ArrayState, actions: NDArray[np.int64], rewards: NDArray[np.floating]) -> ArrayState:
        """The state after the actions that were taken, [n], and their rewards, [n]; for the next `step`."""
        return feed_arrays(self.network, state, actions, rewards)

    def probabilities(self, observations: Observations) -> NDArray[np.float32]:
        """π(·|s), float32 [n, A], of observations [n, *shape]: `step` of a memoryless policy, as exact as it.

        Raises ValueError for a policy with a state, whose probabilities depend on the decisions before.
        """
        observations = self._as_array(observations)
        state = self.initial_state(len(observations))
        if state:
            raise ValueError(f"{self.network.architecture}: a policy with a state; call step")
        return self.step(observations, state)[0]

    def act(
        self, observations: Observations, generator: np.random.Generator | None = None, greedy: bool | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Actions int64 [n] of a memoryless policy, and the probabilities float32 [n, A] that they were drawn with
        (one-hot if greedy).

        observations [n, *shape], as `environment.make()` gives them; BadInput for others, and for numbers that are not
        finite. generator: draws the actions unless greedy; None: a new one. greedy: None: as the policy is to be
        played.
        """
        observations = self._as_array(observations)
        probabilities = self.probabilities(observations)
        if len(wrong := np.argwhere(~np.isfinite(observations))):
            raise BadInput(f"observations hold a number that is not finite in row {wrong[0][0]}")
        if self.greedy if greedy is None else greedy:
            return choose(probabilities, None)
        return choose(probabilities, (generator or np.random.default_rng()).random(len(probabilities)))


def choose(
    probabilities: NDArray[np.float32], uniforms: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Actions int64 [n] by inversion of the distribution function, or the most probable ones without `uniforms`.

    Also returns the probabilities that the actions were drawn with: those given, or one-hot rows. Actions of
    probability zero are never drawn.
    """
    if uniforms is None:
        actions = probabilities.argmax(axis=1)
        return actions, np.eye(probabilities.shape[1], dtype=np.float32)[actions]
    columns = np.ascontiguousarray(probabilities.T)  # [A, n], because sums along rows are slow
    cumulative = np.add.accumulate(columns, axis=0, dtype=np.float64)
    # The total is 1 only to float32 precision; rounding must not exceed it.
    total = cumulative[-1]
    points = np.minimum(uniforms * total, np.nextafter(total, 0))
    return np.add.reduce(cumulative <= points, axis=0, dtype=np.int64), probabilities
