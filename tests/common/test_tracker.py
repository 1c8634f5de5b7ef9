"""Trackers of runs; those that are not installed here are one stand-in, which notes what it is told."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from qwop.common import tracker
from qwop.common.errors import BadInput
from qwop.common.tracker import TRACKERS, Tracker, require_tracker


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Calls of W&B or Trackio, in order."""
    calls: list[Any] = []

    def init(**arguments: Any) -> SimpleNamespace:
        calls.append(arguments)
        return SimpleNamespace(
            log=lambda figures, step=None: calls.append((figures, step)),
            define_metric=lambda name, step_metric: calls.append((name, step_metric)),
            finish=lambda: calls.append("finish"),
        )

    for name in ("wandb", "trackio"):
        module = ModuleType(name)
        module.init = init  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(tracker, "find_spec", lambda name: True)
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    return calls


def write(kind: str, folder: Path, resume_at: int | None = None) -> None:
    tracker = Tracker(kind, folder, {"seed": 3}, resume_at)
    for step in (1, 2):
        tracker.log({"a": 0.5, "b": 1.5}, step)
    tracker.close()


@pytest.mark.parametrize("kind", TRACKERS)
def test_each_tracker_gets_every_row_at_once(kind: str, tmp_path: Path, calls: list[Any]) -> None:
    folder = tmp_path / "group" / "run"
    write(kind, folder)
    assert bool([*tmp_path.rglob("events*")]) == (kind == "tensorboard")
    row = {"a": 0.5, "b": 1.5}
    rows = {
        "trackio": [(row, 1), (row, 2), "finish"],
        "wandb": [("*", "step"), ({**row, "step": 1}, None), ({**row, "step": 2}, None), "finish"],
    }
    assert calls[1:] == rows.get(kind, [])
    run = {"project": "qwop", "group": "group", "name": str(folder), "config": {"seed": 3}, "resume": "never"}
    assert all(call.items() >= run.items() for call in calls[:1])


def test_a_resumed_run_is_continued_and_another_in_its_folder_is_not(
    tmp_path: Path, calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_PROJECT", "mine")
    for resume_at in (None, 1, None):
        write("wandb", tmp_path, resume_at)
    first, again, anew = (call for call in calls if isinstance(call, dict))
    assert [one["resume"] for one in (first, again, anew)] == ["never", "allow", "never"]
    assert first["id"] == again["id"] != anew["id"]
    assert first["project"] == "mine"


@pytest.mark.parametrize("kind", ["wandb", "trackio"])
def test_a_tracker_that_is_not_installed_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=rf"tracker={kind}: .* pip install 'qwop\[{kind}\]'"):
        require_tracker(kind)
    require_tracker("tensorboard")
