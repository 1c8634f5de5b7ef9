"""`qwop-finetune algorithm=ddqn` as a person uses it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from qwop.policies.files import load_policy
from qwop.policies.q_networks import DuelingQ

Finetune = Callable[..., tuple[int, str, str]]

SMALL = (
    "+schedule=ddqn-speed",
    "~schedule.phases.shown.environment",
    "~schedule.phases.faster",
    "~schedule.phases.fastest",
    "schedule.scale=0.002",
    "loop.num_envs=4",
    "loop.capacity=900",
    "loop.start=40",
    "loop.batch_size=8",
    "loop.log_every=160",
    "loop.checkpoint_every=400",
    "algorithm.hidden=[16,8]",
    "evaluation.episodes=4",
    "video=false",
)


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("demonstrations")]


def test_demonstrations_alone_are_enough_to_start_from(finetune: Finetune, tmp_path: Path) -> None:
    code, _, said = finetune("demonstrations=demos", *SMALL, "out=run")
    assert code == 0, said
    policy = load_policy(tmp_path / "run" / "policy.safetensors")
    assert isinstance(policy.network, DuelingQ)
    assert policy.network.hidden == (16, 8)
    assert float(policy.network.epsilon) == pytest.approx(0.001)
    assert float(policy.network.scaler.mean[0]) > 1  # that of the demonstrations
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["memory/demonstrations"] == 0.0
    assert any(row["memory/demonstrations"] > 0.3 for row in rows)
    assert "share of random actions" in (tmp_path / "run" / "report.html").read_text()

    resumed, _, said = finetune("demonstrations=demos", *SMALL, "out=run", "resume=true")
    assert resumed == 0, said
    again = load_policy(tmp_path / "run" / "policy.safetensors").network
    assert all(
        torch.equal(one, other) for one, other in zip(again.parameters(), policy.network.parameters(), strict=True)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demonstrations=demos", "algorithm.n_steps=0"], "algorithm.n_steps=0"),
        (["demonstrations=demos", "loop.batch_size=0"], "loop.batch_size=0"),
        (["demonstrations=demos", "+loop.replay_ratio=4"], "loop.replay_ratio"),
        (["demonstrations=demos", "+schedule.phases.alone.environment={frames_per_step:2}"], "frames_per_step"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    finetune: Finetune, tmp_path: Path, arguments: list[str], message: str
) -> None:
    code, _, said = finetune(*SMALL, *arguments, "out=run")
    assert code == 2
    assert message in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()
