"""Demonstrations in the environments of phases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.datasets import DatasetInfo, DatasetWriter, Episode, embedded_dataset, open_dataset
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.schedules.environments import PhaseEnvironments, phase_environments, relabelled_demonstrations
from qwop.finetune.schedules.phase import FULL, Phase, RestartSettings
from qwop.finetune.schedules.teacher_wrapper import TeacherWrapper
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy

DATASET = open_dataset(embedded_dataset())
SPEC = DATASET.info.environment


def phase(name: str = "mixed", **environment: Any) -> Phase:
    return Phase(name, 1.0, demonstrations=FULL, environment=environment)


def test_demonstrations_of_the_same_task_enter_the_memory_as_they_are() -> None:
    found = relabelled_demonstrations([phase(time_limit=50.0)], SPEC, DATASET)
    assert [len(episode) for episode in found] == [len(episode) for episode in DATASET]
    np.testing.assert_array_equal(found[0].rewards, DATASET[0].rewards)


def test_demonstrations_have_the_rewards_of_the_phases_that_use_them() -> None:
    alone = Phase("alone", 1.0, environment={"reward": "speed"})
    found = relabelled_demonstrations([alone, phase(reward="shaped"), phase("again")], SPEC, DATASET)
    for shaped, recorded in zip(found, DATASET, strict=True):  # all of them finished
        assert shaped.rewards.sum() > 850
        assert recorded.rewards.sum() == pytest.approx(110, abs=1)


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        (
            [phase(frames_per_step=2)],
            r"phases\.mixed: uses demonstrations of .* only reward, .*, push_penalty, time_limit may",
        ),
        ([phase(), phase("shaped", reward="shaped")], "demonstrations under different rewards"),
        (
            [phase(reward="race"), phase("careful", reward="race", fall_penalty=3.0)],
            "demonstrations under different rewards",
        ),
        (
            [phase(reward="race"), phase("clearing", reward="race", push_penalty=0.3)],
            "demonstrations under different rewards",
        ),
        ([Phase("imitating", 1.0, imitation=FULL, environment={"frames_per_step": 2})], r"phases\.imitating: uses"),
    ],
)
def test_demonstrations_of_other_play_are_refused(phases: list[Phase], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        relabelled_demonstrations(phases, SPEC, DATASET)


def test_demonstrations_without_keys_keep_their_rewards_or_are_refused(
    tmp_path: Path, make_episode: Callable[..., Episode]
) -> None:
    spec = EnvironmentSpec("QWOP-v1", {"reward": "shaped"})
    DatasetWriter(tmp_path / "demos", DatasetInfo(spec, ObservationSpec((71,)), 11)).write(
        make_episode(5, actions=11, shape=(71,))
    )
    dataset = open_dataset(tmp_path / "demos")
    assert len(relabelled_demonstrations([phase()], spec, dataset)) == 1
    with pytest.raises(BadInput, match="has no keys"):
        relabelled_demonstrations([phase(reward="race")], spec, dataset)


def test_settings_of_the_environment_hold_from_their_phase_on() -> None:
    phases = [
        Phase("a", 1.0, environment={"time_limit": 5.0}),
        Phase("b", 1.0),
        Phase("c", 1.0, environment={"delay": 1}),
    ]
    found = [spec.settings for spec in phase_environments(EnvironmentSpec("QWOP-v1"), phases)]
    assert found == [{"time_limit": 5.0}, {"time_limit": 5.0}, {"time_limit": 5.0, "delay": 1}]


def test_phases_with_other_restarts_are_played_in_other_games() -> None:
    policy = Policy(Actor(71, 11, (4,)), EnvironmentSpec("QWOP-v1"), ObservationSpec((71,)))
    restarts = RestartSettings(0.5, (10.0, 20.0))
    phases = [Phase("a", 1.0), Phase("b", 1.0, restarts=restarts), Phase("c", 1.0, restarts=restarts)]
    made = PhaseEnvironments(phases, policy, 2, 0)
    assert (made.share_environment(0, 1), made.share_environment(1, 2)) == (False, True)


def test_a_policy_made_for_other_spaces_than_its_environment_has_now_is_told() -> None:
    policy = Policy(Actor(3, 2, (4,)), EnvironmentSpec("CartPole-v1"), ObservationSpec((3,)))
    with pytest.raises(BadInput, match="it was changed after the policy was made"):
        PhaseEnvironments([Phase("alone", 1.0)], policy, 2, 0)


def test_a_setting_that_no_policy_file_may_hold_is_refused_before_anything_is_played() -> None:
    policy = Policy(Actor(16, 4, (4,)), EnvironmentSpec("FrozenLake-v1"), ObservationSpec((16,)))
    phases = [Phase("short", 1.0), Phase("long", 1.0, environment={"render_fps": 3})]
    with pytest.raises(BadInput, match=r"render_fps=3: a file may not set that; register an environment that has it"):
        PhaseEnvironments(phases, policy, 2, 0)


def test_only_phases_with_teaching_have_the_teacher() -> None:
    policy = Policy(Actor(4, 2, (4,)), EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)))
    phases = [Phase("taught", 1.0, kickstarting=FULL), Phase("alone", 1.0)]
    made = PhaseEnvironments(phases, policy, 2, 0, teacher=("cart", policy))
    assert [isinstance(made.make(number), TeacherWrapper) for number in range(2)] == [True, False]
    assert not made.share_environment(0, 1)
