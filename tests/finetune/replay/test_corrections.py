"""Demonstrations of shared control in ACER's memory."""

from dataclasses import replace

import numpy as np
from qwop.datasets.behaviour_probabilities import smoothed
from qwop.datasets.control import Branch
from qwop.datasets.schema import Episode
from qwop.finetune.replay.demonstrations import Demonstrations


def game(actors: list[int]) -> Episode:
    steps = len(actors)
    actions = (np.arange(steps) % 3).astype(np.int16)
    mu = smoothed(actions, 3, 0.05)
    mu[np.array(actors) == 0] = [0.2, 0.3, 0.5]
    return Episode(
        observations=np.arange(steps + 1, dtype=np.float32)[:, None],
        actions=actions,
        behaviour_probabilities=mu,
        rewards=np.ones(steps, dtype=np.float32),
        times=np.arange(steps + 1, dtype=np.float64),
        keys=None,
        terminated=True,
        truncated=False,
        outcome="terminated",
        player="me",
        source="a test",
        mu_kind="mixed",
        mu_epsilon=0.05,
        actors=np.array(actors, dtype=np.int8),
    )


def test_the_person_alone_is_imitated_and_probabilities_stay_exact() -> None:
    shown = game([0, 1, 1, 0])
    served = Demonstrations([shown], streams=1, steps=4).next(1)
    assert served.player is not None
    assert served.player[0].sum(axis=1).tolist() == [0, 1, 1, 0]
    assert np.array_equal(served.behaviour_probabilities[0], shown.behaviour_probabilities)


def test_a_branchs_own_decisions_are_served_once() -> None:
    line = game([0, 0, 1, 1])
    branch = replace(line, branch=Branch(0, 3))
    demonstrations = Demonstrations([line, branch], streams=1, steps=5)
    assert len(demonstrations) == 5
    assert demonstrations.next(1).observations[0, :5, 0].tolist() == [0, 1, 2, 3, 3]
