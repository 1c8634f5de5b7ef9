"""Settings of a command line in a run: they reach the agent of every phase."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.finetune import main
from qwop.policies.files import load_policy

pytestmark = pytest.mark.slow

KURODO = (
    "schedule=kurodo", "algorithm.learning_rate=1e-12", "algorithm.gamma=0.9", "algorithm.epochs=2", "loop.num_envs=4",
    "policy=scratch", "environment=QWOP-v1", "schedule.scale=0.0001", "schedule.keep=last",
    "schedule.phases.polish.evaluations=0", "evaluation.episodes=0", "evaluation.drawn=0", "loop.steps=4",
    "loop.capacity=32", "loop.start=8", "video=false", "tracker=none", "out=run",
)  # fmt: skip


def test_what_is_typed_reaches_the_agent_of_each_phase_and_a_tiny_rate_learns_nothing(
    finetune: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Any] = []
    monkeypatch.setattr(main, "build", lambda run, make=main.build: built.append(run) or make(run))
    done = finetune(*KURODO)
    assert done.code == 0, done.err
    had = [
        (one.algorithm.name, one.algorithm.gamma, one.loop.num_envs, getattr(one.algorithm, "epochs", 2))
        for one in built
    ]
    assert had == [("ppo", 0.9, 4, 2), ("acer", 0.9, 4, 2), ("ppo", 0.9, 4, 2)]
    assert {path.stem for path in (tmp_path / "run" / "phases").glob("*.safetensors")} == {
        "1-values", "2-alone", "3-watching", "4-mixed", "5-critic", "6-fade", "7-polish",
    }  # fmt: skip
    start, end = (load_policy(tmp_path / "run" / name) for name in ("start.safetensors", "policy.safetensors"))
    for name, weights in start.network.state_dict().items():
        torch.testing.assert_close(end.network.state_dict()[name], weights, rtol=0, atol=1e-9)
