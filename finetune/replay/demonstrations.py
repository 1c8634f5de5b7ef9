"""Demonstrations: recorded episodes served as sequences, in recorded order."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...datasets.control import corrected, without_shared
from ...datasets.schema import Episode
from ...pretrain.rows import rows_of, targets
from ..experience.sequences import DEMONSTRATIONS, Sequences, TruncatedObservations, discounted_returns


def _to_imitate(episodes: list[Episode]) -> NDArray[np.float32]:
    """Probabilities to imitate in every decision, float32 [N, A]; in shared control 0 in the policy's own
    decisions."""
    if all(episode.actors is None for episode in episodes):
        recorded = rows_of(episodes, observations=False).probabilities
        if recorded is not None:
            return recorded
        actions = np.concatenate([episode.actions for episode in episodes])
        ones: NDArray[np.float32] = np.eye(episodes[0].behaviour_probabilities.shape[1], dtype=np.float32)[actions]
        return ones
    return np.concatenate([targets(episode) * corrected(episode)[:, None] for episode in episodes])


def better(shown: Sequences, values: NDArray[np.float32]) -> NDArray[np.bool_]:
    """True for demonstrations whose player achieved more than the policy expects of itself, bool [n]:

        Σ_t known_t · (G_t − V(s_t)) > 0

    and for those of which no return is known. values: V(s_t), [n, k], in the unit of the rewards.

    Oh et al. 2018, "Self-Imitation Learning", learn from single steps with G > V in the same way.
    """
    assert shown.returns is not None
    assert shown.known is not None
    gain: NDArray[np.float32] = np.where(shown.known, shown.returns - values, 0.0).sum(axis=1)
    found: NDArray[np.bool_] = (gain > 0) | ~shown.known.any(axis=1)
    return found


class Demonstrations:
    """Serves all decisions of some episodes, joined end to end, from `streams` cursors that start evenly spread.

    Every stream reads the recordings in order, `steps` decisions per sequence, and wraps around at the end; a sequence
    may span the end of an episode, as in live play. Streams alternate. The state is the cursors.

    observations [len, *shape], actions int64 [len] and behaviour_probabilities float32 [len, A]: of every decision, in
    recorded order. The latter may be replaced.
    """

    def __init__(self, episodes: Iterable[Episode], streams: int, steps: int) -> None:
        kept = [without_shared(episode) for episode in episodes]
        lengths = np.array([len(episode) for episode in kept])
        ends = np.cumsum(lengths) - 1
        self._steps = steps
        self.observations = np.concatenate([episode.observations[:-1] for episode in kept])
        self._finals = np.stack([episode.observations[-1] for episode in kept])
        self._episode = np.repeat(np.arange(len(kept)), lengths)
        self.actions = np.concatenate([episode.actions for episode in kept]).astype(np.int64)
        self._rewards = np.concatenate([episode.rewards for episode in kept])
        self.behaviour_probabilities = np.concatenate([episode.behaviour_probabilities for episode in kept])
        self._player = _to_imitate(kept)
        self._lengths = lengths
        self._returns = np.zeros(len(self.actions), dtype=np.float32)
        self._terminated = np.zeros(len(self.actions), dtype=np.bool_)
        self._terminated[ends] = [episode.terminated for episode in kept]
        # An abandoned game did not terminate, so its last step bootstraps as at a time limit.
        self._truncated = np.zeros(len(self.actions), dtype=np.bool_)
        self._truncated[ends] = ~self._terminated[ends]
        self._known = self._terminated[ends][self._episode]
        self._cursors = np.arange(streams, dtype=np.int64) * len(self) // streams
        self._turn = 0

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.actions)

    def discount_returns(self, gamma: float) -> float:
        """Compute returns with this discount; return the standard deviation over games played to their end."""
        episodes = np.split(self._rewards, np.cumsum(self._lengths)[:-1])
        self._returns = np.concatenate([discounted_returns(rewards, gamma) for rewards in episodes]).astype(np.float32)
        whole = self._returns[self._known]
        return max(float(whole.std()), float(np.finfo(np.float32).tiny)) if len(whole) else 1.0

    def next(self, n: int) -> Sequences:
        """The next sequence of each of the next n streams, cycling through them if there are fewer."""
        starts = np.empty(n, dtype=np.int64)
        for i in range(n):
            starts[i] = self._cursors[self._turn]
            self._cursors[self._turn] = (self._cursors[self._turn] + self._steps) % len(self)
            self._turn = (self._turn + 1) % len(self._cursors)
        rows = (starts[:, None] + np.arange(self._steps + 1)) % len(self)
        played = rows[:, :-1]
        truncated = self._truncated[played]
        sequence, step = truncated.nonzero()
        return Sequences(
            observations=self.observations[rows],
            actions=self.actions[played],
            rewards=self._rewards[played],
            behaviour_probabilities=self.behaviour_probabilities[played],
            terminated=self._terminated[played],
            truncated=truncated,
            finals=TruncatedObservations(sequence, step, self._finals[self._episode[played[sequence, step]]]),
            source=np.full(n, DEMONSTRATIONS, dtype=np.int8),
            player=self._player[played],
            returns=self._returns[played],
            known=self._known[played],
        )

    def get_state(self) -> dict[str, object]:
        return {"cursors": self._cursors.copy(), "turn": self._turn}

    def set_state(self, state: dict[str, Any]) -> None:
        self._cursors = np.array(state["cursors"], dtype=np.int64)
        self._turn = int(state["turn"])
