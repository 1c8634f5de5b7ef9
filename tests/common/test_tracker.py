"""Trackers of runs; Trackio is a stand-in, for its own needs a server's packages."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from qwop.common import tracker
from qwop.common.errors import BadInput
from qwop.common.tracker import open_tracker, require_tracker


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Records what Trackio was told."""
    calls: list[Any] = []
    module = ModuleType("trackio")
    module.init = lambda **settings: calls.append(("init", settings["name"]))  # type: ignore[attr-defined]
    module.log = lambda figures, step: calls.append((step, figures))  # type: ignore[attr-defined]
    module.finish = lambda: calls.append("finish")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "trackio", module)
    monkeypatch.setattr(tracker, "require_tracker", lambda kind: None)
    return calls


def write(kind: str, folder: Path) -> None:
    opened = open_tracker(kind, folder)
    for step in (1, 2):
        opened.add_scalar("a", 0.5, step)
        opened.add_scalar("b", 1.5, step)
    opened.close()


@pytest.mark.parametrize("kind", tracker.TRACKERS)
def test_each_tracker_gets_the_figures(kind: str, tmp_path: Path, told: list[Any]) -> None:
    write(kind, tmp_path)
    assert bool([*tmp_path.rglob("events*")]) == (kind in ("tensorboard", "both"))
    figures = {"a": 0.5, "b": 1.5}
    wanted = [("init", str(tmp_path)), (1, figures), (2, figures), "finish"]
    assert told == (wanted if kind in ("trackio", "both") else [])


def test_a_tracker_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"tracker=trackio: .* pip install 'qwop\[trackio\]'"):
        require_tracker("trackio")
    require_tracker("tensorboard")
