"""Internal rewards of agents, from the events of a race: r = w·ρ."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..envs.race.events import EVENTS
from .evolution import REWARD

UNITS: Mapping[str, float] = {
    "new_metres": 0.3, "lost_metres": 1.0, "left_foot": 0.2, "right_foot": 0.2, "other_foot": 0.2, "knee": 0.3,
    "hand": 1.0, "torso": 1.0, "head": 1.0, "fall": 1.0, "hurdle_hit": 1.0, "hurdle_cleared": 1.0, "finish": 1.0,
    "decision": 0.02, "took_lead": 1.0, "lost_lead": 1.0, "won": 1.0, "lost": 1.0,
}  # fmt: skip
"""Reward of one event at weight 1.

Each event earns about 0.02 a decision, averaged over games of a random policy and of the champion (64 races each, 15
decisions a second), so that none dominates; events rarer than once in 50 decisions earn 1.
"""

HAND_MADE: Mapping[str, float] = {
    **dict.fromkeys(EVENTS, 0.0),
    "new_metres": 1.0,
    "lost_metres": -0.5,
    "knee": -0.2,
    "fall": -1.0,
    "decision": -0.8,
    "finish": 1.0,
    "won": 0.5,
    "lost": -0.5,
}
"""Hand-chosen weights: run far, fast and upright, and win. With −0.2 for a decision, a runner is
three seconds slower after 2.6 million decisions."""


def initial_rewards(kind: str, generator: np.random.Generator) -> dict[str, float]:
    """Return the first weights of an agent: "drawn", or chosen by hand ("both", "fixed"). All kinds draw equally many
    numbers from the generator."""
    weights = {event: REWARD.draw(generator) for event in EVENTS}
    return weights if kind == "drawn" else dict(HAND_MADE)


def event_rewards(weights: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the reward of one event of each kind, float64 [E], for weights by event."""
    return np.array([weights[event] * UNITS[event] for event in EVENTS])
