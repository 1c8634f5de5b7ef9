"""`qwop-finetune algorithm=ftw` as a person uses it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from qwop.finetune.checkpoint import checkpoints
from qwop.policies.files import load_policy
from qwop.policies.two_timescale import TwoTimescaleActorCritic

pytestmark = pytest.mark.slow

Finetune = Callable[..., tuple[int, str, str]]

SMALL = (
    "algorithm=ftw", "algorithm.hidden=[16]", "algorithm.memory=16", "algorithm.latent=8", "algorithm.period=3",
    "schedule=live-only", "loop.num_envs=8", "loop.steps=20", "loop.checkpoint_every=320", "evaluation.episodes=2",
    "evaluation.drawn=0", "video=false",
)  # fmt: skip

EVENTS = (
    "environment=QWOPRace-v1", "schedule.phases.alone.hours=0.03",
    "+schedule.phases.alone.environment={runners: 1, weights: [1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}",
)  # fmt: skip


def test_a_resumed_run_that_is_rewarded_for_events_equals_an_uninterrupted_one(
    finetune: Finetune, tmp_path: Path
) -> None:
    for run in ("whole", "half"):
        code, _, said = finetune(*SMALL, *EVENTS, f"out={run}")
        assert code == 0, said
    for newer in checkpoints(tmp_path / "half/checkpoints")[1:]:
        newer.unlink()
    (tmp_path / "half/policy.safetensors").unlink()
    code, _, said = finetune(*SMALL, *EVENTS, "out=half", "resume=true")
    assert code == 0, said
    one, two = (load_policy(tmp_path / run / "policy.safetensors") for run in ("whole", "half"))
    weights, resumed = one.network.state_dict(), two.network.state_dict()
    assert all(torch.equal(weights[name], resumed[name]) for name in weights)
    assert isinstance(one.network, TwoTimescaleActorCritic)
    assert one.network.description() == {"hidden": [16], "memory": 16, "latent": 8, "period": 3}
    assert one.environment.settings["weights"][0] == 1
