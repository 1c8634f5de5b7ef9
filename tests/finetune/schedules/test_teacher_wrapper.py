"""Games in which a teacher says what it would do."""

from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.envs.names import CONTACT_FEATURES, FEATURES, FULL_FEATURES
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector
from qwop.finetune.experience.collector import Collector
from qwop.finetune.schedules.environments import Teacher, TeacherWrapper
from qwop.finetune.schedules.phase import RestartSettings
from qwop.finetune.schedules.restarts import Restarts
from qwop.policies.files import load_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy
from qwop.policies.recurrent import RecurrentActorCritic

from ..fakes import CARTPOLE, Uniform

PICTURES = {"observation": "pixels", "size": 36, "stack": 3, "frames_per_step": 1, "reward": "race"}


def pixels(**more: Any) -> EnvironmentSpec:
    return EnvironmentSpec("QWOP-v1", {**PICTURES, **more})


def in_numbers(observation: str) -> EnvironmentSpec:
    return EnvironmentSpec("QWOP-v1", {"observation": observation, "frames_per_step": 1})


def qwop_policy(observation: str) -> Policy:
    size = len({"features": FEATURES, "full": FULL_FEATURES, "contact": CONTACT_FEATURES}[observation])
    network = ActorCritic(size, 11, (16,), torch.Generator().manual_seed(0))
    for weight in network.policy_head.parameters():
        torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(1))
    return Policy(network, in_numbers(observation), ObservationSpec((size,)))


@pytest.mark.parametrize("kind", ["features", "full", "contact"])
def test_a_teacher_sees_numbers_where_its_pupil_sees_pictures(kind: str) -> None:
    """Two games with the same keys, one observed as numbers, across the ends of games."""
    seeing, numbers = (
        QWOPVectorEnv(4, autoreset_mode="SameStep", max_idle_frames=9, **{**settings, "time_limit": 2.0})
        for settings in (PICTURES, {**PICTURES, "observation": kind, "stack": 1, "size": 84})
    )
    policy = qwop_policy(kind)
    games = TeacherWrapper(seeing, Teacher(policy, pixels(), "teacher"))
    (pictures, _), (observed, _) = games.reset(seed=3), numbers.reset(seed=3)
    random, ended = np.random.default_rng(0), False
    for _ in range(150):
        with torch.no_grad():
            expected = policy.network.logits(torch.from_numpy(observed)).softmax(-1).numpy()
        np.testing.assert_allclose(games.teacher_probabilities(pictures), expected, rtol=1e-4, atol=1e-6)
        actions = random.integers(11, size=4)
        pictures, _, terminated, truncated, _ = games.step(actions)
        observed, *_ = numbers.step(actions)
        ended |= bool((terminated | truncated).any())
    assert ended


def test_it_sees_a_game_that_goes_on_from_a_saved_state() -> None:
    env = Restarts(
        QWOPVectorEnv(4, autoreset_mode="SameStep", observation="full", frames_per_step=1),
        RestartSettings(0.9, (-10.0, 10.0), source="falls"),
    )
    policy = qwop_policy("full")
    games = TeacherWrapper(env, Teacher(policy, in_numbers("full"), "teacher"))
    observed, _ = games.reset(seed=0)
    random, restarted = np.random.default_rng(0), False
    for _ in range(400):
        with torch.no_grad():
            expected = policy.network.logits(torch.from_numpy(observed)).softmax(-1).numpy()
        np.testing.assert_allclose(games.teacher_probabilities(observed), expected, rtol=1e-4, atol=1e-6)
        observed, *_, infos = games.step(random.integers(11, size=4))
        restarted |= bool(infos["restarted"].any())
    assert restarted
    np.testing.assert_array_equal(games.set_state(games.get_state()), observed)


def test_any_environment_has_teachers_and_the_collector_asks_them_before_each_step() -> None:
    policy = Policy(ActorCritic(4, 2, (8,), torch.Generator().manual_seed(0)), CARTPOLE, ObservationSpec((4,)))
    teacher = Teacher(policy, CARTPOLE, "cart")
    games = TeacherWrapper(make_vector(CARTPOLE, 3), teacher)
    assert not hasattr(games, "get_state")  # these games cannot be saved
    played, _ = Collector(games, 30, np.random.default_rng(0)).collect(Uniform(2))
    assert played.terminated.any()
    assert played.teacher is not None
    for step in range(30):
        np.testing.assert_array_equal(played.teacher[:, step], teacher.probabilities(played.observations[:, step]))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (pixels(frames_per_step=2), "teacher: decides 30 times a second, but its pupil 15 times"),
        (in_numbers("features"), "teacher: a policy of QWOP-v1"),  # it sees 71 of the 94
        (
            EnvironmentSpec("QWOP-v1", {**in_numbers("full").settings, "observation_lag": 1}),
            "teacher: a policy of QWOP-v1",
        ),
        (CARTPOLE, "teacher: a policy of QWOP-v1"),
    ],
)
def test_a_teacher_must_be_able_to_play(spec: EnvironmentSpec, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Teacher(load_policy("champion"), spec, "teacher")


def test_a_policy_with_a_memory_cannot_teach() -> None:
    network = RecurrentActorCritic(4, 2, (8,), 8, torch.Generator().manual_seed(0))
    with pytest.raises(BadInput, match="cart: a policy with a memory"):
        Teacher(Policy(network, CARTPOLE, ObservationSpec((4,))), CARTPOLE, "cart")
