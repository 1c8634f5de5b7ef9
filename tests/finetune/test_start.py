"""The beginning of a run: policy and demonstrations, or what a resumed run shares with its first part."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qwop.common.errors import BadInput
from qwop.common.run_folder import write_configuration
from qwop.common.settings import read, to_plain
from qwop.datasets.from_keys import qwop_info
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune import start as starting
from qwop.finetune.agents.acer.settings import AcerLoopSettings, AcerSettings
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.checkpoint import save_checkpoint
from qwop.finetune.schedules.phase import FULL, NONE, Phase
from qwop.finetune.settings import FinetuneSettings, ScheduleSettings
from qwop.finetune.start import PRETRAINED, Start, find_start, require_resumable
from qwop.policies.files import save_policy

from ..fakes import dataset_of, game_of, untrained
from .fakes import CARTPOLE, write_games


@pytest.fixture
def demos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Demonstrations of CartPole, which are also the embedded ones here; the working folder is empty."""
    write_games(tmp_path / "demos", CARTPOLE, [30, 25, 20])
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(starting, "embedded_dataset", lambda: tmp_path / "demos")
    return str(tmp_path / "demos")


def find(needs_demonstrations: bool = True, said: list[str] | None = None, **named: str | None) -> Start:
    phase = Phase("only", 1.0, demonstrations=FULL if needs_demonstrations else NONE)
    said = [] if said is None else said
    return find_start(FinetuneSettings(schedule=ScheduleSettings(phases=(phase,)), **named), said.append)


def save(path: Path, spec: EnvironmentSpec = CARTPOLE) -> str:
    return str(save_policy(path, untrained(spec)))


def test_with_nothing_named_an_untrained_policy_stands_for_a_clone_of_the_embedded_games_until_it_is_made(
    demos: str,
) -> None:
    start = find(said=(said := []))
    assert start.demonstrations is not None
    assert start.to_clone is not None
    assert [line.split(":")[0] for line in said] == ["demonstrations", "policy"]
    made = start.with_clone(3)
    assert made.to_clone is None
    assert start.policy.environment == made.policy.environment == CARTPOLE
    assert made.policy.observation == start.policy.observation
    assert (start.policy.network.scaler.fitted, made.policy.network.scaler.fitted) == (False, True)
    assert made.policy.training["cloned_from"]["episodes"] == 3
    assert made.with_clone(4) is made


def test_the_pretrained_policy_serves_where_there_is_one_unless_demonstrations_are_named(demos: str) -> None:
    save(PRETRAINED)
    start = find(said=(said := []))
    assert start.policy.network.hidden == (16,)
    assert said[0] == f"policy: {PRETRAINED}"
    assert find(demonstrations=demos).policy.network.hidden != (16,)


def test_demonstrations_are_not_read_where_no_phase_uses_them(demos: str, tmp_path: Path) -> None:
    assert find(policy=save(tmp_path / "p"), needs_demonstrations=False).demonstrations is None


@pytest.mark.parametrize("environment", [None, "CartPole-v1"])
def test_a_new_policy_takes_environment_and_scale_from_the_demonstrations(demos: str, environment: str | None) -> None:
    start = find(policy="scratch", demonstrations=demos, environment=environment)
    assert start.policy.environment == CARTPOLE
    assert start.policy.network.scaler.mean.abs().max() > 1
    assert np.allclose(start.policy.probabilities(np.zeros((1, 4), np.float32)), 0.5, atol=0.1)


def test_rewards_alone_may_differ_between_policy_and_demonstrations(tmp_path: Path) -> None:
    task: dict[str, Any] = {"frames_per_step": 3, "reward": "shaped"}
    write_games(tmp_path / "shown", EnvironmentSpec("QWOP-v1", task), [9])
    policy = save(tmp_path / "raced", EnvironmentSpec("QWOP-v1", {**task, "reward": "race"}))
    raced = find(policy=policy, demonstrations=str(tmp_path / "shown"))
    assert raced.policy.environment.settings["reward"] == "race"


def test_games_with_keys_are_replayed_for_the_policys_task(tmp_path: Path) -> None:
    info = qwop_info(frames_per_step=3, reward="shaped")
    keys = [0] * 4 + [9, 9, 9, 6, 6, 6] * 5
    dataset_of(tmp_path / "me", info, game_of(keys, info))
    task = qwop_info(frames_per_step=1, observation="contact", reward="race")
    path = save(tmp_path / "policy.safetensors", task.environment)
    start = find(said=(said := []), policy=path, demonstrations=str(tmp_path / "me"))
    assert start.demonstrations is not None
    assert start.demonstrations[0].observations.shape == (31, 112)
    assert said[-1].startswith("demonstrations: replayed for the policy's task")


# Settings that a resumed run must share with the one that it continues.

PHASES = {"first": {"hours": 1}, "second": {"hours": 2, "learning_rate": [1, 0]}, "third": {"hours": 3}}
SETTINGS = FinetuneSettings(
    schedule=read(ScheduleSettings, {"phases": PHASES}), algorithm=PpoSettings(), loop=PpoLoopSettings()
)
ACER = to_plain(SETTINGS.with_(algorithm=AcerSettings(), loop=AcerLoopSettings()))


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """A run of SETTINGS in its second phase; what resuming it with changes of its configuration gives."""
    write_configuration(SETTINGS, tmp_path)
    save_checkpoint(tmp_path / "checkpoints", 10, {"decisions": 10, "demonstrations": None})

    def resume(**changes: Any) -> Any:
        settings = read(FinetuneSettings, {**to_plain(SETTINGS), "resume": True, **changes})
        found = require_resumable(settings, tmp_path)
        return None if found is None else found[1]

    return resume


def with_phases(**changes: Any) -> Any:
    return {"phases": {name: phase for name, phase in {**PHASES, **changes}.items() if phase is not None}}


@pytest.mark.parametrize(
    "changes",
    [{}, {"threads": 2}, {"schedule": with_phases(first={"hours": 1.0}) | {"scale": 1.0}}],  # the same, in other words
)
def test_what_a_run_does_not_depend_on_may_be_another(run: Any, changes: dict[str, Any]) -> None:
    assert run(**changes)["decisions"] == 10


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 1}, "seed: 0, not 1"),
        ({"distributed": {"name": "ray", "actors": 3}}, r"distributed\.name: local, not ray"),
        ({"algorithm": {**to_plain(SETTINGS)["algorithm"], "clip": 0.1}}, r"algorithm\.clip: 0\.2, not 0\.1; go on"),
        ({"algorithm": ACER["algorithm"], "loop": ACER["loop"]}, r"algorithm\.name: ppo, not acer;"),
        ({"schedule": with_phases() | {"scale": 0.5}}, "schedule.scale: 1.0, not 0.5"),
        ({"schedule": with_phases(second={"hours": 3})}, r"schedule.phases.second.hours: 2.0, not 3.0; go on"),
        ({"schedule": with_phases(first=None)}, "schedule.phases.first: .*hours.*, not null"),
        (
            {"schedule": {"phases": dict(reversed(PHASES.items()))}},
            "schedule.phases: .*first, second.*, not .*third",
        ),
        ({"resume": False}, "holds a run already; resume=true continues it"),
    ],
)
def test_what_a_run_depends_on_may_not(run: Any, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        run(**changes)


def test_a_run_without_its_checkpoints_keeps_its_policy(run: Any, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "metrics.jsonl").touch()
    assert run() is None  # killed before the first checkpoint
    (tmp_path / "policy.safetensors").touch()
    with pytest.raises(BadInput, match=r"no checkpoint to resume from, only .*policy\.safetensors; give out="):
        run()
