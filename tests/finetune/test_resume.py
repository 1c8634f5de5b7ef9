"""Settings that a resumed run must share with the one that it continues."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from qwop.common.errors import BadInput
from qwop.common.run_folder import write_configuration
from qwop.common.settings import read, to_plain
from qwop.finetune.agents.acer.settings import AcerLoopSettings, AcerSettings
from qwop.finetune.agents.ppo.settings import PpoLoopSettings, PpoSettings
from qwop.finetune.checkpoint import save_checkpoint
from qwop.finetune.schedules.phase import parse_phases
from qwop.finetune.settings import FinetuneSettings, ScheduleSettings
from qwop.finetune.start import require_resumable

PHASES = {"first": {"hours": 1}, "second": {"hours": 2, "learning_rate": [1, 0]}, "third": {"hours": 3}}
SETTINGS = FinetuneSettings(
    schedule=ScheduleSettings(phases=parse_phases(PHASES)), algorithm=PpoSettings(), loop=PpoLoopSettings()
)
ACER = to_plain(SETTINGS.with_(algorithm=AcerSettings(), loop=AcerLoopSettings()))


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """A run of SETTINGS in its second phase; what resuming it with changes of its configuration gives."""
    write_configuration(SETTINGS, tmp_path)
    save_checkpoint(tmp_path / "checkpoints", 10, {"decisions": 10, "demonstrations": None, "phase": 1})

    def resume(**changes: Any) -> Any:
        settings = read(FinetuneSettings, {**to_plain(SETTINGS), "resume": True, **changes})
        found = require_resumable(settings, tmp_path, pytest.fail)
        return None if found is None else found[1]

    return resume


def with_phases(**changes: Any) -> Any:
    phases = {name: phase for name, phase in {**PHASES, **changes}.items() if phase is not None}
    return {"phases": phases}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"threads": 2},
        {"schedule": with_phases(third={"hours": 9, "entropy": 0})},
        {"schedule": with_phases(third=None)},
        {"schedule": with_phases(fourth={"hours": 4})},
        {"schedule": with_phases(first={"hours": 1.0}) | {"scale": 1.0}},  # the same, in other words
    ],
)
def test_what_has_not_begun_may_be_another(run: Any, changes: dict[str, Any]) -> None:
    assert run(**changes)["decisions"] == 10


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 1}, "seed: 0, not 1"),
        ({"algorithm": {**to_plain(SETTINGS)["algorithm"], "clip": 0.1}}, r"algorithm\.clip: 0\.2, not 0\.1; go on"),
        ({"algorithm": ACER["algorithm"], "loop": ACER["loop"]}, r"algorithm\.name: ppo, not acer;"),
        ({"schedule": with_phases() | {"scale": 0.5}}, "schedule.scale: 1.0, not 0.5"),
        ({"schedule": with_phases(second={"hours": 3})}, r"schedule.phases.second.hours: 2.*, not 3; go on"),
        ({"schedule": with_phases(first=None)}, "the phases that have begun: .*first, second.*, not .*second, third"),
        (
            {"schedule": with_phases(second=None, third=None)},
            "the phases that have begun: .*first, second.*, not .*first",
        ),
    ],
)
def test_what_has_begun_may_not(run: Any, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        run(**changes)


def test_a_foreign_text_in_the_settings_before_cannot_control_the_terminal(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(path.read_text().replace("seed: 0", 'seed: "\\e[31mred\\a"'))
    with pytest.raises(BadInput, match=r"config.yaml: seed=.*red") as refused:
        run()
    assert str(refused.value).isprintable()


def test_a_run_without_its_log_is_not_begun_anew(run: Any) -> None:
    with pytest.raises(BadInput, match="holds a run already; resume=true continues it"):
        run(resume=False)


def test_a_run_without_its_checkpoints_keeps_its_policy(run: Any, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "metrics.jsonl").touch()
    assert run() is None  # killed before the first checkpoint
    (tmp_path / "policy.safetensors").touch()
    with pytest.raises(BadInput, match=r"no checkpoint to resume from, only .*policy\.safetensors; give out="):
        run()
