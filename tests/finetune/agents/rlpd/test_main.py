"""`qwop-finetune algorithm=rlpd` as a person uses it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.main import main
from qwop.policies.files import load_policy
from qwop.policies.networks import EnsembleQ


def test_demonstrations_are_enough_to_start_from(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    make_episode: Callable[..., Episode],
) -> None:
    info = DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)), 2)
    DatasetWriter(tmp_path / "demos", info).write(make_episode(30, actions=2, shape=(4,)))
    monkeypatch.chdir(tmp_path)
    settings = "demonstrations=demos algorithm=rlpd-small schedule=anneal schedule.scale=0.0003 loop.batch_size=8"
    more = "loop.start=40 evaluation.episodes=2 evaluation.drawn=2 video=false out=run"
    monkeypatch.setattr(sys, "argv", ["qwop-finetune", *settings.split(), *more.split()])
    main()
    assert "note: this schedule is made for algorithm=acer; the run learns by rlpd" in capsys.readouterr().out
    policy = load_policy(tmp_path / "run" / "policy.safetensors")
    assert isinstance(policy.network, EnsembleQ)
    assert policy.network.hidden == (64, 64)
    assert policy.network.epsilon.item() == pytest.approx(0.02)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert rows[0]["sampled/demonstrations"] > 0.2
    assert rows[-1]["sampled/demonstrations"] == 0.0  # the phase without any
