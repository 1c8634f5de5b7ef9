"""Refusals of `qwop-evaluate`, in the simulator and on the page of the original."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import ActorCritic
from qwop.policies.policy import Policy

REFUSED = [
    ("", "policy is not set"),
    ("policy=missing.safetensors", "missing.safetensors"),
    ("policy={text}", "text.safetensors"),
    ("policy={other}", "CartPole-v1"),
    ("policy={file} episodes=0", "episodes=0"),
    ("policy={file} episodes=many", "episodes"),
    ("policy={file} world=moon", "world=moon"),
    ("policy={file} colour=red", "colour"),
    ("policy={file} +environment.speed=3", "speed"),
    ("policy={file} +environment.frames_per_step=0", "frames_per_step=0"),
    ("keys=champion policy=champion", "policy=champion and keys=champion"),
    ("keys=missing.txt", "missing.txt"),
    ("keys=missing.txt world=original", "missing.txt"),
    ("keys=champion world=original", "original.url and original.folder: neither given"),
    ("policy={file} world=original", "original.url and original.folder: neither given"),
    ("policy={file} world=original original.folder=nowhere", "original.folder=nowhere: found no .html file"),
    ("policy={file} world=original original.timeout=soon", "original.timeout"),
    ("policy={file} world=original +original.speed=3", "original.speed: no such setting"),
    ("policy={other} world=original original.folder=.", "plays CartPole-v1"),
    ("policy={file} out={foreign}", "of another command, whose config.yaml sets held_out; give out= another folder"),
]


@pytest.mark.parametrize(("line", "said"), REFUSED, ids=[line for line, _ in REFUSED])
def test_bad_input_is_one_line_and_nothing_is_written(
    line: str,
    said: str,
    policy_file: Path,
    tmp_path: Path,
    evaluate: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = tmp_path / "text.safetensors"
    text.write_text("not a policy")
    # A policy with QWOP's shapes that says it is of another environment.
    other = Policy(ActorCritic(71, 11, hidden=(16,)), EnvironmentSpec("CartPole-v1"), ObservationSpec((71,)))
    names = {"file": policy_file, "text": text, "other": save_policy(tmp_path / "other.safetensors", other)}
    foreign = names["foreign"] = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "config.yaml").write_text("held_out: 0.2\n")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    words = line.format(**names).split()
    code, _, error = evaluate(*words, *([] if "out=" in line else [f"out={tmp_path / 'out'}"]))
    (only,) = error.strip().splitlines()
    assert code == 2
    assert said in only
    assert sorted(tmp_path.rglob("*")) == before
