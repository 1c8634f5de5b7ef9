"""Sequences of k steps, the unit of collecting, storing, sampling and learning; and n-step transitions of them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...envs.spec import Observations
from ...policies.networks import ArrayState, concatenate_rows, select_rows

LIVE, DEMONSTRATIONS = 0, 1
SOURCES = ("live", "demonstrations")
"""The origins of a sequence; `source` is an index into these."""


def source_shares(source: NDArray[np.int8]) -> dict[str, float]:
    """The share of each source in `source`, int8 [n]; all 0 if it is empty."""
    counts = np.bincount(source, minlength=len(SOURCES))
    return {name: float(count) / max(len(source), 1) for name, count in zip(SOURCES, counts, strict=True)}


class TruncatedObservations(NamedTuple):
    """Final observations of episodes ended by a time limit, stored separately because they are few.

    sequence int64 [m], step int64 [m]: the steps that ended there; observations [m, *shape].
    """

    sequence: NDArray[np.int64]
    step: NDArray[np.int64]
    observations: Observations


@dataclass(frozen=True)
class Sequences:
    """n sequences of k steps.

    observations float32 or uint8 [n, k + 1, *shape]: the last one is for bootstrapping; a step that ended an episode
    is followed by the first observation of the next. actions int64 [n, k]; rewards float32 [n, k];
    behaviour_probabilities float32 [n, k, A], μ(·|s_t); terminated, truncated bool [n, k], of the step; finals: the
    final observations of truncated episodes; source int8 [n], into SOURCES; state: the policy's at each sequence's
    start, arrays [n, ...], none for a memoryless policy; teacher float32 [n, k, A], a teacher's π_T(·|s_t), if present;
    signals float32 [n, k], rewards to predict, if they differ from `rewards`.

    For demonstrations only (0 for live play in the same batch): player float32 [n, k, A], the probabilities to imitate,
    one-hot where only the action is known; returns float32 [n, k], the discounted return that the demonstrator achieved
    from this step; known bool [n, k], true where that return is complete, because the game was played to its end.
    """

    observations: Observations
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    behaviour_probabilities: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    finals: TruncatedObservations
    source: NDArray[np.int8]
    state: ArrayState = ()
    teacher: NDArray[np.float32] | None = None
    signals: NDArray[np.float32] | None = None
    player: NDArray[np.float32] | None = None
    returns: NDArray[np.float32] | None = None
    known: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def steps(self) -> int:
        """k."""
        return int(self.actions.shape[1])

    def with_clipped_rewards(self) -> "Sequences":
        """The same with rewards between −1 and 1, as for Atari (Mnih et al. 2015)."""
        return replace(self, rewards=self.rewards.clip(-1.0, 1.0))


_TUPLES = ("finals", "state")
"""Fields that are not one array with a row for each sequence."""


def concatenate(parts: Sequence[Sequences], order: NDArray[np.int64] | None = None) -> Sequences:
    """Join the sequences of all parts; or those at the indices `order` of that concatenation, each at most once."""
    offsets = np.cumsum([0, *(len(part) for part in parts)])
    total = int(offsets[-1])
    order = np.arange(total) if order is None else order
    place = np.full(total, -1)
    place[order] = np.arange(len(order))

    def joined(name: str) -> NDArray[Any] | None:
        """The concatenated field, with zeros for parts without it; None if no part has it."""
        values = [getattr(part, name) for part in parts]
        like = next((one for one in values if one is not None), None)
        if like is None:
            return None
        zeros = [np.zeros((len(part), *like.shape[1:]), like.dtype) for part in parts]
        return np.concatenate([zero if one is None else one for one, zero in zip(values, zeros, strict=True)])[order]

    sequence = np.concatenate(
        [place[part.finals.sequence + offset] for part, offset in zip(parts, offsets, strict=False)]
    )
    mask = sequence >= 0
    finals = TruncatedObservations(
        sequence[mask],
        np.concatenate([part.finals.step for part in parts])[mask],
        np.concatenate([part.finals.observations for part in parts])[mask],
    )
    arrays: dict[str, Any] = {one.name: joined(one.name) for one in fields(Sequences) if one.name not in _TUPLES}
    return Sequences(
        **arrays, finals=finals, state=select_rows(concatenate_rows([part.state for part in parts]), order)
    )


def interleave(live: Sequences, demonstrations: Sequences) -> Sequences:
    """Merge both, with demonstrations spread evenly among live sequences, so that replay never holds a block of one
    source."""
    return concatenate([live, demonstrations], evenly_mixed(len(live), len(demonstrations)))


def evenly_mixed(n: int, m: int) -> NDArray[np.int64]:
    """A permutation, int64 [n + m], of n items followed by m others that spreads both evenly."""
    # Item i of n is placed at (i + ½)/n; on a tie the item of m is second.
    positions = np.concatenate([(np.arange(n) + 0.5) / max(n, 1), (np.arange(m) + 0.5) / max(m, 1)])
    return np.argsort(positions, kind="stable")


def discounted_returns(rewards: NDArray[np.floating], gamma: float) -> NDArray[np.float64]:
    """G_t = r_t + γ·G_{t+1} at every step of an episode: float64 [T], from its rewards [T]."""
    backwards = accumulate(rewards[::-1].tolist(), lambda following, reward: reward + gamma * following)
    return np.array(list(backwards)[::-1], dtype=np.float64)


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
