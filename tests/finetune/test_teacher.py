"""`qwop-finetune teacher=…` as a person uses it."""

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.checkpoint import checkpoints
from qwop.finetune.schedules.environments import PhaseEnvironments
from qwop.finetune.schedules.phase import FULL, Phase
from qwop.finetune.schedules.teacher_wrapper import TeacherWrapper
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

pytestmark = pytest.mark.slow

Finetune = Callable[..., tuple[int, str, str]]

SMALL = (
    "policy=scratch", "loop.num_envs=8", "loop.steps=20", "loop.log_every=160", "loop.checkpoint_every=480",
    "algorithm.hidden=[16]", "evaluation.episodes=0", "evaluation.drawn=0", "video=false",
)  # fmt: skip
ALGORITHMS = {
    "ppo": ("algorithm=ppo", "algorithm.minibatch=40", "algorithm.target_kl=1000"),
    "vtrace": ("algorithm=vtrace", "algorithm.memory=16", "algorithm.passes=4"),
    "ftw": ("algorithm=ftw", "algorithm.memory=16", "algorithm.latent=8", "algorithm.passes=4"),
}
PICTURES = (*SMALL, "environment=QWOP-v1", "schedule=pictures", "schedule.scale=1e-3",
            "teacher=teacher.safetensors")  # fmt: skip


def rows(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def changed(policy: Policy) -> Policy:
    with torch.no_grad():
        for weight in policy.network.parameters():
            weight.mul_(2.0)
    return policy


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    """A policy of CartPole that pushes to the right nearly always."""
    network = ActorCritic(4, 2, (8,), torch.Generator().manual_seed(0))
    with torch.no_grad():
        for weight in network.policy_head.parameters():
            weight.zero_()
        network.policy_head.bias[1] = 3.0
    path = tmp_path / "teacher.safetensors"
    save_policy(path, Policy(network, EnvironmentSpec("CartPole-v1"), ObservationSpec((4,))))
    return path


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_pupil_comes_to_act_like_its_teacher(name: str, teacher: Path, finetune: Finetune, tmp_path: Path) -> None:
    taught = ("schedule=live-only", "schedule.phases.alone.hours=0.3", "schedule.phases.alone.kickstarting=[20,10]")
    settings = (*SMALL, *ALGORITHMS[name], *taught, "environment=CartPole-v1", f"teacher={teacher}")
    code, _, said = finetune(*settings, "algorithm.learning_rate=0.01", "out=run")
    assert code == 0, said
    losses = [row["learner/kickstarting"] for row in rows(tmp_path / "run")]
    entropy = -sum(p * math.log(p) for p in (1 / (1 + math.exp(3)), 1 / (1 + math.exp(-3))))
    assert losses[0] > 0.5
    assert losses[-1] < entropy + 0.1


def test_a_pupil_that_sees_pictures_resumes_to_the_bit(finetune: Finetune, tmp_path: Path) -> None:
    save_policy(tmp_path / "teacher.safetensors", load_policy("champion"))
    for run in ("whole", "half"):
        code, _, said = finetune(*PICTURES, f"out={run}")
        assert code == 0, said
    losses = [row["learner/kickstarting"] for row in rows(tmp_path / "whole")]
    assert losses[-1] < losses[0] < 2.6
    taken = checkpoints(tmp_path / "half/checkpoints")
    assert len(taken) > 1
    for newer in taken[1:]:
        newer.unlink()
    save_policy(tmp_path / "teacher.safetensors", changed(load_policy("champion")))  # the run has its own copy
    code, _, said = finetune(*PICTURES, "out=half", "resume=true")
    assert code == 0, said
    one, two = ((tmp_path / run / "policy.safetensors").read_bytes() for run in ("whole", "half"))
    assert one == two


def test_a_phase_without_teaching_has_no_teacher(teacher: Path, finetune: Finetune, tmp_path: Path) -> None:
    phases = ("schedule=live-only", "schedule.phases.alone.hours=0.02", "schedule.phases.alone.kickstarting=1",
              "+schedule.phases.after={hours: 0.02}")  # fmt: skip
    settings = (*SMALL, *ALGORITHMS["vtrace"], *phases, "environment=CartPole-v1", f"teacher={teacher}", "out=run")
    code, _, said = finetune(*settings)
    assert code == 0, said
    found = {(row["phase"], "learner/kickstarting" in row) for row in rows(tmp_path / "run")}
    assert found == {("alone", True), ("after", False)}


def test_actors_in_other_processes_have_the_teacher() -> None:
    champion = load_policy("champion")
    phases = (Phase("taught", 1.0, kickstarting=FULL), Phase("alone", 1.0))
    environments = PhaseEnvironments(phases, champion, 3, 0, teacher=("champion", champion))
    sent = pickle.loads(pickle.dumps(environments))
    games = sent.make(0)
    assert isinstance(games, TeacherWrapper)
    observations, _ = games.reset(seed=0)
    with torch.no_grad():
        expected = champion.network.logits(torch.from_numpy(observations)).softmax(-1).numpy()
    np.testing.assert_allclose(games.teacher_probabilities(observations), expected, rtol=1e-4, atol=1e-7)
    assert not isinstance(sent.make(1), TeacherWrapper)
    assert not sent.share_environment(0, 1)
