"""Which settings a resumed run must share with the one that it goes on with."""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from qwop.common.errors import BadInput
from qwop.common.yaml_command import open_run_folder
from qwop.finetune.checkpoint import save_checkpoint
from qwop.finetune.resume import require_resumable

PHASES = {"first": {"hours": 1}, "second": {"hours": 2, "learning_rate": [1, 0]}, "third": {"hours": 3}}
CONFIG = {"seed": 0, "threads": 1, "algorithm": {"name": "ppo", "clip": 0.2}, "schedule": {"phases": PHASES}}


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """A run of CONFIG in its second phase; what resuming it with changes gives."""
    open_run_folder(OmegaConf.create(CONFIG), tmp_path)
    save_checkpoint(tmp_path / "checkpoints", 10, {"decisions": 10, "schedule": {"index": 1}, "phase": 1})

    def resume(**changes: Any) -> Any:
        return require_resumable(OmegaConf.create({**CONFIG, **changes}), tmp_path)

    resume.folder = tmp_path
    return resume


def with_phases(**changes: Any) -> dict[str, Any]:
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
        ({"algorithm": {"name": "ppo", "clip": 0.1}}, "algorithm.clip: 0.2, not 0.1$"),
        ({"algorithm": {"name": "ppo"}}, "algorithm.clip: 0.2, not None"),
        ({"schedule": with_phases() | {"scale": 0.5}}, "schedule.scale: 1.0, not 0.5"),
        ({"schedule": with_phases(second={"hours": 3})}, "second has begun as .*2.*, not .*3"),
        ({"schedule": with_phases(first=None)}, "first has begun as .*, not second in its place"),
        ({"schedule": with_phases(second=None, third=None)}, "second has begun as .*, not none in its place"),
    ],
)
def test_what_has_begun_may_not(run: Any, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        run(**changes)


def test_a_checkpoint_of_an_earlier_version_is_of_the_phase_that_its_schedule_says(run: Any) -> None:
    save_checkpoint(run.folder / "checkpoints", 20, {"decisions": 20, "schedule": {"index": 2}})
    assert run()["phase"] == 2
    save_checkpoint(run.folder / "checkpoints", 30, {"decisions": 30, "schedule": {"index": 3}})
    assert run(schedule=with_phases(fourth={"hours": 4}))["phase"] == 2
