"""Likeness of a policy to the player of the demonstrations."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ...datasets.reader import Dataset
from ...envs.spec import Observations
from ...policies.policy import Policy
from ...pretrain.measures import measure

MOST = 5000
"""Most decisions of a dataset to compare, as many of each game, evenly spaced."""


class Player:
    """The player of a dataset, and a sample of the decisions.

    name: of the games and their players, in words.
    """

    def __init__(self, dataset: Dataset) -> None:
        players: Counter[str] = Counter()
        each = max(MOST // len(dataset), 1)
        observations: list[Observations] = []
        actions: list[NDArray[np.int64]] = []
        for episode in dataset:
            players[episode.player] += 1
            chosen = np.linspace(0, len(episode) - 1, min(each, len(episode))).astype(np.int64)
            observations.append(episode.observations[chosen])
            actions.append(episode.actions[chosen].astype(np.int64))
        self._observations, self._actions = np.concatenate(observations), np.concatenate(actions)
        self.name = f"{len(dataset)} games of {' and '.join(name for name, _ in players.most_common(3))}"

    def likeness(self, policy: Policy) -> dict[str, float]:
        """Compare a policy with the player in the player's states; empty for a policy with a memory.

        player_actions: share of decisions in which its most probable action is the player's. player_nats: mean −ln π of
        the player's actions. player_time: 1 − ½ Σ_a |p(a) − π(a)|, the overlap of the time that both spend on each
        action.
        """
        if policy.initial_state(1):
            return {}
        probabilities = policy.probabilities(self._observations)
        found = measure(probabilities, self._actions)
        times = np.bincount(self._actions, minlength=policy.actions) / len(self._actions)
        overlap = 1.0 - 0.5 * float(np.abs(times - probabilities.mean(axis=0)).sum())
        return {"player_actions": found.accuracy, "player_nats": found.nats, "player_time": overlap}
