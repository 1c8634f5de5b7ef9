"""Transitions of n steps, made from sequences as they are played, for DQN and RLPD."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import Observations
from .sequences import Sequences, evenly_mixed


@dataclass(frozen=True)
class Transitions:
    """m transitions.

    observations s and next_observations s' [m, *shape]; actions int64 [m]; rewards float32 [m],
    Σ_j γ^j r_{t+j}; discounts float32 [m], of the bootstrap value at s': γ^steps, or 0 where the episode ended
    there; source int8 [m], into SOURCES.
    """

    observations: Observations
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    discounts: NDArray[np.float32]
    next_observations: Observations
    source: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, which: NDArray[np.int64] | slice) -> "Transitions":
        return Transitions(*(getattr(self, one.name)[which] for one in fields(self)))


class NStep:
    """Makes n-step transitions from the sequences of some games, each continuing from one sequence to the next.

    R = Σ_{j<m} γ^j r_{t+j} with m = n, or fewer at the end of an episode, and a bootstrap from s_{t+m} with discount
    γ^m: none if the episode terminated there, and from its final observation if it was truncated. Every decision starts
    one transition; incomplete transitions wait for the next sequences.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._waiting: dict[str, NDArray[Any]] | None = None

    def push(self, sequences: Sequences, gamma: float) -> Transitions:
        """Return the transitions that these steps complete, with discount γ, stream by stream, in the order played."""
        arrays = {name: getattr(sequences, name) for name in ("actions", "rewards", "terminated", "truncated")}
        arrays["observations"] = sequences.observations[:, :-1]
        arrays["open"] = np.ones(sequences.actions.shape, dtype=np.bool_)
        before = 0
        if self._waiting is not None:
            before = self._waiting["open"].shape[1]
            arrays = {name: np.concatenate([self._waiting[name], array], axis=1) for name, array in arrays.items()}
        rewards, counts, complete = self._returns(arrays, gamma)
        stream, start = (arrays["open"] & complete).nonzero()
        count = counts[stream, start]
        end = start + count - 1

        # A waiting step ended no episode, so final observations belong to new steps.
        final = np.full(complete.shape, -1, dtype=np.int64)
        final[sequences.finals.sequence, sequences.finals.step + before] = np.arange(len(sequences.finals.step))
        final = final[stream, end]
        following = np.concatenate([arrays["observations"], sequences.observations[:, -1:]], axis=1)[stream, end + 1]
        following[final >= 0] = sequences.finals.observations[final[final >= 0]]
        discounts = np.where(arrays["terminated"][stream, end], 0.0, gamma**count)

        arrays["open"] &= ~complete
        keep = max(complete.shape[1] - self._n + 1, 0)
        self._waiting = {name: array[:, keep:].copy() for name, array in arrays.items()}
        return Transitions(
            observations=arrays["observations"][stream, start],
            actions=arrays["actions"][stream, start],
            rewards=rewards[stream, start].astype(np.float32),
            discounts=discounts.astype(np.float32),
            next_observations=following,
            source=sequences.source[stream],
        )

    def restart(self) -> None:
        """Discard the waiting steps, because new games begin."""
        self._waiting = None

    def get_state(self) -> dict[str, object]:
        """The waiting steps."""
        return {} if self._waiting is None else {name: array.copy() for name, array in self._waiting.items()}

    def set_state(self, state: dict[str, Any]) -> None:
        self._waiting = {name: np.array(array) for name, array in state.items()} or None

    def _returns(
        self, arrays: dict[str, NDArray[Any]], gamma: float
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        """The return of the transition from every step, its number of steps, and True where it is complete."""
        ends = arrays["terminated"] | arrays["truncated"]
        steps = ends.shape[1]
        rewards = np.zeros(ends.shape)
        counts = np.zeros(ends.shape, dtype=np.int64)
        running = np.ones(ends.shape, dtype=np.bool_)
        for j in range(min(self._n, steps)):
            here = running[:, : steps - j]
            rewards[:, : steps - j] += np.where(here, gamma**j * arrays["rewards"][:, j:], 0.0)
            counts[:, : steps - j] += here
            here &= ~ends[:, j:]
        return rewards, counts, (counts == self._n) | ~running


def mixed(live: Transitions, demonstrations: Transitions) -> Transitions:
    """Merge both, with demonstrations spread evenly among live transitions, so that replay never holds a block of one
    source."""
    return joined([live, demonstrations])[evenly_mixed(len(live), len(demonstrations))]


def joined(parts: Sequence[Transitions]) -> Transitions:
    """All transitions of the parts, in order."""
    names = [one.name for one in fields(Transitions)]
    return Transitions(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
