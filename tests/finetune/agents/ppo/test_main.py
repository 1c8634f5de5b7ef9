"""`qwop-finetune algorithm=ppo` as a person uses it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import load_policy, save_policy
from qwop.policies.networks import Actor, ActorCritic, Network, ValuedActor
from qwop.policies.policy import Policy

pytestmark = pytest.mark.slow

Finetune = Callable[..., tuple[int, str, str]]

SMALL = (
    "algorithm=ppo",
    "algorithm.hidden=[16]",
    "algorithm.minibatch=64",
    "+schedule=champion",
    "loop.num_envs=8",
    "loop.steps=20",
    "loop.checkpoint_every=480",
    "evaluation.episodes=2",
    "video=false",
)


def test_the_champions_schedule_from_nothing(finetune: Finetune, tmp_path: Path) -> None:
    code, _, said = finetune("policy=scratch", "environment=QWOP-v1", *SMALL, "schedule.scale=3e-5", "out=run")
    assert code == 0, said
    run = tmp_path / "run"
    policies = [load_policy(run / f"{name}.safetensors") for name in ("phases/1-shaped", "phases/2-strides", "policy")]
    first, second, last = (dict(policy.environment.settings) for policy in policies)
    assert first == {
        "observation": "contact", "frames_per_step": 2, "reward": "race", "shaping": 0.7, "time_limit": 30.0,
    }  # fmt: skip
    assert second == first | {"shaping": 0.0, "time_limit": 100.0}
    assert last == second | {"frames_per_step": 1}
    assert isinstance(policies[-1].network, Actor)
    assert policies[-1].observation == ObservationSpec((112,))
    assert policies[-1].network.scaler.fitted
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert {row["phase"] for row in rows} == {"shaped", "strides", "race", "frames"}
    assert all(0 < row["learner/entropy"] < 2.4 for row in rows)
    assert "KL from the behaviour policy" in (run / "report.html").read_text()


def test_the_schedule_of_pictures_from_nothing_and_resumed(finetune: Finetune, tmp_path: Path) -> None:
    small = [part for part in SMALL if "schedule" not in part and "algorithm=" not in part]
    settings = ["policy=scratch", "environment=QWOP-v1", "schedule=pictures", *small, "schedule.scale=1e-4"]
    code, _, said = finetune(*settings, "out=run")
    assert code == 0, said
    policies = [load_policy(tmp_path / f"run/{name}.safetensors") for name in ("phases/1-shaped", "policy")]
    assert [policy.environment.settings["time_limit"] for policy in policies] == [30.0, 100.0]
    for policy in policies:
        assert policy.observation == ObservationSpec((3, 36, 36), "uint8")
        assert isinstance(policy.network, ValuedActor)
        assert policy.network.description()["convolutions"] == "nips"
        assert policy.values is None

    shutil.copytree(tmp_path / "run", tmp_path / "again")
    (*older, newest) = sorted((tmp_path / "again" / "checkpoints").iterdir())
    assert older
    newest.unlink()
    code, _, said = finetune(*settings, "out=again", "resume=true")
    assert code == 0, said
    ended = [(tmp_path / run / "policy.safetensors").read_bytes() for run in ("run", "again")]
    assert ended[0] == ended[1]


@pytest.mark.parametrize(("shared", "kind"), [("false", ActorCritic), ("true", ValuedActor)])
def test_a_clone_can_be_continued_on_live_play(
    finetune: Finetune, tmp_path: Path, shared: str, kind: type[Network]
) -> None:
    network = ActorCritic(4, 2, (16,), torch.Generator().manual_seed(0))
    save_policy(tmp_path / "clone.safetensors", Policy(network, EnvironmentSpec("CartPole-v1"), ObservationSpec((4,))))
    settings = [part for part in SMALL if "schedule" not in part]
    settings += [
        "policy=clone.safetensors",
        "+schedule=live-only",
        "schedule.scale=0.0005",
        f"algorithm.shared={shared}",
    ]
    code, _, said = finetune(*settings, "out=run")
    assert code == 0, said
    trained = load_policy(tmp_path / "run" / "policy.safetensors").network
    assert isinstance(trained, kind)
    assert trained.hidden == network.hidden
    assert not torch.equal(trained.trunk[0].weight, network.trunk[0].weight)
    assert finetune(*settings, "out=run", "resume=true")[0] == 0


def test_a_policy_learns_in_races_against_itself(finetune: Finetune, tmp_path: Path) -> None:
    """Also where a number of games is no multiple of a race's runners."""
    settings = [*(one for one in SMALL if "schedule" not in one), "schedule=live-only", "schedule.scale=1e-4"]
    settings += ["evaluation.episodes=3", "evaluation.drawn=0", "+schedule.phases.alone.environment={time_limit: 3}"]
    code, _, said = finetune("policy=scratch", "environment=QWOPRace-v1", *settings, "out=run")
    assert code == 0, said
    policy = load_policy(tmp_path / "run/policy.safetensors")
    assert (policy.environment.id, policy.observation) == ("QWOPRace-v1", ObservationSpec((74,)))
    rows = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert any("live/metres" in row for row in rows)
