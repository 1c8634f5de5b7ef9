"""`qwop-finetune algorithm=ppo` as a person uses it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.envs.spec import ObservationSpec
from qwop.policies.files import load_policy
from qwop.policies.networks import Actor, ValuedActor

pytestmark = pytest.mark.slow

Tuned = Callable[..., str]

SMALL = (
    "algorithm.hidden=[16]", "algorithm.minibatch=64", "loop.num_envs=8", "loop.steps=20", "loop.checkpoint_every=480",
    "evaluation.episodes=2", "evaluation.drawn=0", "video=false", "out=run",
)  # fmt: skip


def rows(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_the_champions_schedule_from_nothing(tuned: Tuned, tmp_path: Path) -> None:
    tuned("policy=scratch", "environment=QWOP-v1", "schedule=champion", *SMALL, "schedule.scale=3e-5")
    run = tmp_path / "run"
    policies = [load_policy(run / f"{name}.safetensors") for name in ("phases/1-shaped", "phases/2-strides", "policy")]
    first, second, last = (dict(policy.environment.settings) for policy in policies)
    assert first == {
        "observation": "contact", "frames_per_step": 2, "reward": "race", "shaping": 0.7, "time_limit": 30.0,
    }  # fmt: skip
    assert second == first | {"shaping": 0.0, "time_limit": 100.0}
    assert last == second | {"frames_per_step": 1}
    assert isinstance(policies[-1].network, Actor)
    assert policies[-1].network.scaler.fitted
    assert {row["phase"] for row in rows(run)} == {"shaped", "strides", "race", "frames"}


def test_the_schedule_of_pictures_from_nothing(tuned: Tuned, tmp_path: Path) -> None:
    tuned("policy=scratch", "environment=QWOP-v1", "schedule=pictures", *SMALL, "schedule.scale=1e-4")
    run = tmp_path / "run"
    policies = [load_policy(run / f"{name}.safetensors") for name in ("phases/1-shaped", "policy")]
    assert [policy.environment.settings["time_limit"] for policy in policies] == [30.0, 100.0]
    for policy in policies:
        assert policy.observation == ObservationSpec((3, 36, 36), "uint8")
        assert isinstance(policy.network, ValuedActor)
        assert policy.values is None


def test_a_policy_learns_in_races_against_itself(tuned: Tuned, tmp_path: Path) -> None:
    """Also where a number of games is no multiple of a race's runners."""
    race = ["policy=scratch", "environment=QWOPRace-v1", "+schedule.phases.alone.environment={time_limit: 3}"]
    tuned("algorithm=ppo", "schedule=live-only", "schedule.scale=1e-4", *race, *SMALL, "evaluation.episodes=3")
    policy = load_policy(tmp_path / "run/policy.safetensors")
    assert (policy.environment.id, policy.observation) == ("QWOPRace-v1", ObservationSpec((74,)))
    assert any("live/metres" in row for row in rows(tmp_path / "run"))
