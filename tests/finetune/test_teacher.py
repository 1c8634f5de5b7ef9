"""`qwop-finetune teacher=…` as a person uses it."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from qwop.finetune.checkpoint import checkpoints
from qwop.finetune.log import read_metrics
from qwop.policies.files import load_policy, save_policy

from ..fakes import untrained
from .fakes import CARTPOLE

pytestmark = pytest.mark.slow

Tuned = Callable[..., str]

SMALL = (
    "policy=scratch", "loop.num_envs=8", "loop.steps=20", "loop.log_every=160", "loop.checkpoint_every=480",
    "algorithm.hidden=[16]", "evaluation.episodes=0", "evaluation.drawn=0", "video=false",
)  # fmt: skip
PICTURES = (*SMALL, "environment=QWOP-v1", "schedule=pictures", "schedule.scale=1e-3",
            "teacher=teacher.safetensors")  # fmt: skip


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    """A policy of CartPole that pushes to the right nearly always."""
    policy = untrained(CARTPOLE)
    with torch.no_grad():
        for weight in policy.network.policy_head.parameters():
            weight.zero_()
        policy.network.policy_head.bias[1] = 3.0
    return save_policy(tmp_path / "teacher.safetensors", policy)


def test_a_pupil_comes_to_act_like_its_teacher_while_a_phase_has_one(
    teacher: Path, tuned: Tuned, tmp_path: Path
) -> None:
    phases = ("schedule=live-only", "schedule.phases.alone.hours=0.3", "schedule.phases.alone.kickstarting=[20,10]",
              "+schedule.phases.after={hours: 0.02}")  # fmt: skip
    learning = ("algorithm=ppo", "algorithm.minibatch=40", "algorithm.target_kl=1000", "algorithm.learning_rate=0.01")
    tuned(*SMALL, *learning, *phases, "environment=CartPole-v1", f"teacher={teacher}", "out=run")
    found = read_metrics(tmp_path / "run")
    losses = [row["learner/kickstarting"] for row in found if row["phase"] == "alone"]
    entropy = -sum(p * math.log(p) for p in (1 / (1 + math.exp(3)), 1 / (1 + math.exp(-3))))
    assert losses[0] > 0.5
    assert losses[-1] < entropy + 0.1
    assert not any("learner/kickstarting" in row for row in found if row["phase"] == "after")


def test_a_pupil_that_sees_pictures_resumes_to_the_bit(tuned: Tuned, tmp_path: Path) -> None:
    save_policy(tmp_path / "teacher.safetensors", load_policy("champion"))
    for run in ("whole", "half"):
        tuned(*PICTURES, f"out={run}")
    losses = [row["learner/kickstarting"] for row in read_metrics(tmp_path / "whole")]
    assert losses[-1] < losses[0] < 2.6
    taken = checkpoints(tmp_path / "half/checkpoints")
    assert len(taken) > 1
    for newer in taken[1:]:
        newer.unlink()
    save_policy(
        tmp_path / "teacher.safetensors", untrained(load_policy("champion").environment)
    )  # the run has its own copy
    tuned(*PICTURES, "out=half", "resume=true")
    one, two = ((tmp_path / run / "policy.safetensors").read_bytes() for run in ("whole", "half"))
    assert one == two
