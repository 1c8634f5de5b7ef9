"""Distillation: the policy plays the games that it is given."""

import numpy as np
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy
from qwop.policies.rollout import play
from qwop.search.distil import DistilSettings, distil


def test_a_game_that_was_drawn_is_what_the_policy_plays_greedily_then() -> None:
    settings = {"observation": "full", "frames_per_step": 2, "reward": "race", "time_limit": 3.0}
    network = Actor(94, 11, (32,), torch.Generator().manual_seed(0))
    policy = Policy(network, EnvironmentSpec("QWOP-v1", settings), ObservationSpec((94,)))
    (drawn,) = play(policy, episodes=1, seed=1, greedy=False)
    (before,) = play(policy, episodes=1, seed=1, greedy=True)
    assert not np.array_equal(before.actions, drawn.actions)
    states = torch.from_numpy(drawn.observations[:-1])
    actions = torch.from_numpy(drawn.actions.astype(np.int64))
    right = distil(network, states, actions, states, DistilSettings(steps=1000, own=0.0, batch=128))
    (now,) = play(policy, episodes=1, seed=1, greedy=True)
    assert right == 1.0
    np.testing.assert_array_equal(now.actions, drawn.actions)
