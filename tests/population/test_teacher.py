"""Policies that agents imitate."""

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import load_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.recurrent import RecurrentActorCritic
from qwop.population.teacher import Teacher

RACE = EnvironmentSpec("QWOPRace-v1", {"frames_per_step": 1, "observation": "full"})
CART = EnvironmentSpec("CartPole-v1")


def test_a_teacher_sees_of_the_race_what_it_sees_of_its_own_game() -> None:
    champion = load_policy("champion")
    names, own = (list(one.capabilities.observation_names or ()) for one in (RACE, champion.environment))
    race = np.random.default_rng(0).normal(size=(2, 3, len(names))).astype(np.float32)
    found = Teacher(champion, RACE, "champion").probabilities(race)
    seen = torch.from_numpy(race[..., [names.index(one) for one in own]]).flatten(0, 1)
    with torch.no_grad():
        expected = champion.network.logits(seen).softmax(-1).reshape(2, 3, -1)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_any_environment_has_teachers_that_play_it() -> None:
    policy = Policy(ActorCritic(4, 2, (8,), torch.Generator().manual_seed(0)), CART, ObservationSpec((4,)))
    found = Teacher(policy, CART, "cart").probabilities(np.ones((3, 5, 4), dtype=np.float32))
    assert found.shape == (3, 5, 2)
    np.testing.assert_allclose(found.sum(-1), 1.0, rtol=1e-6)
    with pytest.raises(BadInput, match="cart: a policy of CartPole-v1"):
        Teacher(policy, EnvironmentSpec("Acrobot-v1"), "cart")


def test_a_policy_with_a_memory_cannot_teach() -> None:
    network = RecurrentActorCritic(4, 2, (8,), 8, torch.Generator().manual_seed(0))
    with pytest.raises(BadInput, match="cart: a policy with a memory"):
        Teacher(Policy(network, CART, ObservationSpec((4,))), CART, "cart")
