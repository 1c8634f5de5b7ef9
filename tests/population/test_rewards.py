"""The rewards that agents make of a race's events."""

import numpy as np
import pytest
from qwop.envs.race.events import EVENTS, weighted
from qwop.population.rewards import UNITS, event_rewards


def test_a_reward_is_the_weighted_sum_of_the_events() -> None:
    weights = dict.fromkeys(EVENTS, 0.0) | {"finish": 0.5, "fall": -0.2, "new_metres": 0.8, "lost": -1.0}
    rho = np.zeros(len(EVENTS))
    for event, count in (("finish", 2.0), ("fall", 1.0), ("new_metres", 3.0)):
        rho[EVENTS.index(event)] = count
    assert weighted(event_rewards(weights), rho) == pytest.approx(0.5 * 2 - 0.2 + 0.8 * 3 * UNITS["new_metres"])
