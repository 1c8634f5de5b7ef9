"""`qwop-finetune teacher=…` as a person uses it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from qwop.finetune.checkpoint import checkpoints
from qwop.finetune.log import read_metrics
from qwop.policies.files import load_policy, save_policy

from ..fakes import untrained

pytestmark = pytest.mark.slow

Tuned = Callable[..., str]

SMALL = (
    "policy=scratch", "loop.num_envs=8", "loop.steps=20", "loop.log_every=160", "loop.checkpoint_every=480",
    "algorithm.hidden=[16]", "evaluation.episodes=0", "evaluation.drawn=0", "video=false",
)  # fmt: skip
PICTURES = (*SMALL, "environment=QWOP-v1", "schedule=pictures", "schedule.scale=1e-3",
            "teacher=teacher.safetensors")  # fmt: skip


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
