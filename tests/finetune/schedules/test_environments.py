"""The environments of phases, and demonstrations in them."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.datasets import embedded_dataset, open_dataset
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.envs.vector import make_vector
from qwop.finetune.experience.collector import Collector, PolicySnapshot
from qwop.finetune.schedules.environments import (
    PhaseEnvironments,
    Teacher,
    phase_environments,
    relabelled_demonstrations,
)
from qwop.finetune.schedules.phase import FULL, Phase, RestartSettings
from qwop.policies.files import load_policy
from qwop.policies.policy import Policy
from qwop.policies.recurrent import RecurrentActorCritic

from ...fakes import untrained
from ..fakes import CARTPOLE, write_games

DATASET = open_dataset(embedded_dataset())
SPEC = DATASET.info.environment


def phase(name: str = "mixed", **environment: Any) -> Phase:
    return Phase(name, 1.0, demonstrations=FULL, environment=environment)


def test_demonstrations_have_the_rewards_of_the_phases_that_use_them() -> None:
    same = relabelled_demonstrations([phase(time_limit=50.0)], SPEC, DATASET)
    np.testing.assert_array_equal(same[0].rewards, DATASET[0].rewards)
    alone = Phase("alone", 1.0, environment={"reward": "speed"})
    found = relabelled_demonstrations([alone, phase(reward="shaped"), phase("again")], SPEC, DATASET)
    for shaped, recorded in zip(found, DATASET, strict=True):  # all of them finished
        assert len(shaped) == len(recorded)
        assert shaped.rewards.sum() > 850
        assert recorded.rewards.sum() == pytest.approx(110, abs=1)


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ([phase(frames_per_step=2)], r"phases\.mixed: uses demonstrations of .* only reward, .*, time_limit may"),
        ([phase(), phase("shaped", reward="shaped")], "demonstrations under different rewards"),
        ([phase(reward="race"), phase("careful", reward="race", fall_penalty=3.0)], "under different rewards"),
        ([phase(reward="race"), phase("clearing", reward="race", push_penalty=0.3)], "under different rewards"),
        ([Phase("imitating", 1.0, imitation=FULL, environment={"frames_per_step": 2})], r"phases\.imitating: uses"),
    ],
)
def test_demonstrations_of_other_play_are_refused(phases: list[Phase], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        relabelled_demonstrations(phases, SPEC, DATASET)


def test_demonstrations_without_keys_keep_their_rewards_or_are_refused(tmp_path: Path) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"reward": "shaped"})
    dataset = write_games(tmp_path, spec, [5])
    assert len(relabelled_demonstrations([phase()], spec, dataset)) == 1
    with pytest.raises(BadInput, match="has no keys"):
        relabelled_demonstrations([phase(reward="race")], spec, dataset)


def test_settings_of_the_environment_hold_from_their_phase_on() -> None:
    spec = EnvironmentSpec("QWOP-v1", {"time_limit": 9.0})
    changes: list[dict[str, Any]] = [{"time_limit": 5.0}, {}, {"delay": 1}]
    found = [one.settings for one in phase_environments(spec, [phase(**change) for change in changes])]
    assert found == [{"time_limit": 5.0}, {"time_limit": 5.0}, {"time_limit": 5.0, "delay": 1}]
    assert spec.settings == {"time_limit": 9.0}


def test_phases_with_other_restarts_are_played_in_other_games() -> None:
    restarts = RestartSettings(0.5, (10.0, 20.0))
    phases = [Phase("a", 1.0), Phase("b", 1.0, restarts=restarts), Phase("c", 1.0, restarts=restarts)]
    made = PhaseEnvironments(phases, untrained(EnvironmentSpec("QWOP-v1")), 2, 0)
    assert (made.share_environment(0, 1), made.share_environment(1, 2)) == (False, True)


def test_only_phases_with_teaching_have_the_teacher_also_in_other_processes() -> None:
    champion = load_policy("champion")
    phases = [Phase("taught", 1.0, kickstarting=FULL), Phase("alone", 1.0)]
    made = PhaseEnvironments(phases, champion, 3, 0, teacher=("champion", champion))
    sent = pickle.loads(pickle.dumps(made))
    games, teacher = sent.make(0), sent.teachers[0]
    assert teacher is not None
    observations, _ = games.reset(seed=0)
    with torch.no_grad():
        expected = champion.network.logits(torch.from_numpy(observations)).softmax(-1).numpy()
    np.testing.assert_allclose(teacher(games, observations), expected, rtol=1e-4, atol=1e-7)
    assert sent.teachers[1] is None
    assert not sent.share_environment(0, 1)


PICTURES = {"observation": "pixels", "size": 36, "stack": 3, "frames_per_step": 1, "reward": "race"}


def pixels(**more: Any) -> EnvironmentSpec:
    return EnvironmentSpec("QWOP-v1", {**PICTURES, **more})


def in_numbers(observation: str) -> EnvironmentSpec:
    return EnvironmentSpec("QWOP-v1", {"observation": observation, "frames_per_step": 1})


def qwop_policy(observation: str) -> Policy:
    policy = untrained(in_numbers(observation))
    for weight in policy.network.policy_head.parameters():
        torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(1))
    return policy


@pytest.mark.parametrize("kind", ["features", "full", "contact"])
def test_a_teacher_sees_numbers_where_its_pupil_sees_pictures(kind: str) -> None:
    """Two games with the same keys, one observed as numbers, across the ends of games."""
    seeing, numbers = (
        QWOPVectorEnv(4, max_idle_frames=9, **{**settings, "time_limit": 2.0})
        for settings in (PICTURES, {**PICTURES, "observation": kind, "stack": 1, "size": 84})
    )
    policy = qwop_policy(kind)
    teacher = Teacher(policy, pixels(), "teacher")
    (pictures, _), (observed, _) = seeing.reset(seed=3), numbers.reset(seed=3)
    random, ended = np.random.default_rng(0), False
    for _ in range(150):
        with torch.no_grad():
            expected = policy.network.logits(torch.from_numpy(observed)).softmax(-1).numpy()
        np.testing.assert_allclose(teacher(seeing, pictures), expected, rtol=1e-4, atol=1e-6)
        actions = random.integers(11, size=4)
        pictures, _, terminated, truncated, _ = seeing.step(actions)
        observed, *_ = numbers.step(actions)
        ended |= bool((terminated | truncated).any())
    assert ended


def test_any_environment_has_teachers_and_the_collector_asks_them_before_each_step() -> None:
    policy = untrained(CARTPOLE)
    teacher = Teacher(policy, CARTPOLE, "cart")
    games = make_vector(CARTPOLE, 3)
    played, _ = Collector(games, 30, np.random.default_rng(0), teacher=teacher).collect(PolicySnapshot(policy.network))
    assert played.terminated.any()
    assert played.teacher is not None
    for step in range(30):
        np.testing.assert_array_equal(played.teacher[:, step], teacher(games, played.observations[:, step]))


def test_a_teacher_has_no_memory_and_sees_all_that_it_learned_with() -> None:
    memory = Policy(RecurrentActorCritic(4, 2, (8,), 8), CARTPOLE, ObservationSpec((4,)))
    lagged = EnvironmentSpec("QWOP-v1", {**in_numbers("full").settings, "observation_lag": 1})
    for policy, spec, message in (
        (memory, CARTPOLE, "teacher: a policy with a memory"),
        (load_policy("champion"), in_numbers("features"), "teacher: a policy of QWOP-v1"),  # it sees 71 of the 94
        (load_policy("champion"), lagged, "teacher: a policy of QWOP-v1"),
    ):
        with pytest.raises(BadInput, match=message):
            Teacher(policy, spec, "teacher")


def test_a_phase_with_a_setting_that_no_file_may_hold_is_refused_before_anything_is_played() -> None:
    with pytest.raises(BadInput, match=r"render_fps=3: a file may not set that; register an environment"):
        PhaseEnvironments([phase(), phase(render_fps=3)], untrained(EnvironmentSpec("FrozenLake-v1")), 2, 0)
