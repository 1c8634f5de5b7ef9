"""`qwop-finetune algorithm=rlpd` as a person uses it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.policies.files import load_policy
from qwop.policies.q_networks import EnsembleQ

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("demonstrations")
def test_demonstrations_are_enough_to_start_from(finetune: Callable[..., Any], tmp_path: Path) -> None:
    settings = (
        "demonstrations=demos algorithm=rlpd-small schedule=kurodo-published schedule.scale=0.0003 loop.batch_size=8"
    )
    more = "loop.start=40 evaluation.episodes=2 evaluation.drawn=2 video=false out=run"
    done = finetune(*settings.split(), *more.split())
    assert done.code == 0, done.err
    assert "note: this schedule is made for algorithm=acer; the run learns by rlpd" in done.out
    policy = load_policy(tmp_path / "run" / "policy.safetensors")
    assert isinstance(policy.network, EnsembleQ)
    assert policy.network.hidden == (64, 64)
    assert policy.network.epsilon.item() == pytest.approx(0.02)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert rows[0]["sampled/demonstrations"] > 0.2
    assert rows[-1]["sampled/demonstrations"] == 0.0  # the phase without any
