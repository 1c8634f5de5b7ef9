"""The environments of phases, and demonstrations in them."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.common.errors import BadInput
from qwop.datasets import embedded_dataset, open_dataset
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.schedules.environments import (
    PhaseEnvironments,
    TeacherWrapper,
    phase_environments,
    relabelled_demonstrations,
)
from qwop.finetune.schedules.phase import FULL, Phase, RestartSettings
from qwop.policies.files import load_policy
from qwop.policies.networks import Actor
from qwop.policies.policy import Policy

from ..fakes import write_games

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


def policy_of(id: str, size: int, actions: int) -> Policy:
    return Policy(Actor(size, actions, (4,)), EnvironmentSpec(id), ObservationSpec((size,)))


def test_phases_with_other_restarts_are_played_in_other_games() -> None:
    restarts = RestartSettings(0.5, (10.0, 20.0))
    phases = [Phase("a", 1.0), Phase("b", 1.0, restarts=restarts), Phase("c", 1.0, restarts=restarts)]
    made = PhaseEnvironments(phases, policy_of("QWOP-v1", 71, 11), 2, 0)
    assert (made.share_environment(0, 1), made.share_environment(1, 2)) == (False, True)


@pytest.mark.parametrize(
    ("id", "size", "actions", "later", "message"),
    [
        ("CartPole-v1", 3, 2, {}, "it was changed after the policy was made"),
        ("FrozenLake-v1", 16, 4, {"render_fps": 3}, r"render_fps=3: a file may not set that; register an environment"),
        ("QWOP-v1", 71, 11, {"observation": "full"}, "cannot change the observations"),
    ],
)
def test_environments_that_do_not_fit_the_policy_or_its_file_are_refused_before_anything_is_played(
    id: str, size: int, actions: int, later: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        PhaseEnvironments([Phase("one", 1.0), Phase("two", 1.0, environment=later)], policy_of(id, size, actions), 2, 0)


def test_only_phases_with_teaching_have_the_teacher_also_in_other_processes() -> None:
    champion = load_policy("champion")
    phases = [Phase("taught", 1.0, kickstarting=FULL), Phase("alone", 1.0)]
    made = PhaseEnvironments(phases, champion, 3, 0, teacher=("champion", champion))
    sent = pickle.loads(pickle.dumps(made))
    games = sent.make(0)
    assert isinstance(games, TeacherWrapper)
    observations, _ = games.reset(seed=0)
    with torch.no_grad():
        expected = champion.network.logits(torch.from_numpy(observations)).softmax(-1).numpy()
    np.testing.assert_allclose(games.teacher_probabilities(observations), expected, rtol=1e-4, atol=1e-7)
    assert not isinstance(sent.make(1), TeacherWrapper)
    assert not sent.share_environment(0, 1)
