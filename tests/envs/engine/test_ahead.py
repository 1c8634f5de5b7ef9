"""Another process compiles what games will need, where it is not on the disk."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from qwop.envs.engine import ahead


def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lanes: tuple[int | float, ...], kept: bool) -> list[str]:
    """The commands of the processes that are started for these lanes, with the kernels on the disk or without."""
    commands: list[str] = []
    kernel = SimpleNamespace(overloads={}, _cache=SimpleNamespace(holds=lambda *_: kept))
    monkeypatch.setattr(ahead, "solve_island", kernel)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ahead, "being_compiled", {})
    monkeypatch.setattr(subprocess, "Popen", lambda words, **_: commands.append(words[-1]))
    ahead._start.cache_clear()
    ahead.compile_ahead(lanes)
    ahead.compile_ahead(lanes)
    ahead._start.cache_clear()
    return commands


def test_each_width_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one, several = (ahead._COMMAND.format(width=width) for width in (1, 8))
    assert started(monkeypatch, tmp_path, (0,), kept=False) == [one]
    assert sorted(started(monkeypatch, tmp_path, (0,) * 8, kept=False)) == [one, several]


def test_nothing_is_compiled_that_is_kept_or_rarely_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert started(monkeypatch, tmp_path, (0,) * 8, kept=True) == []
    assert started(monkeypatch, tmp_path, (0.0,), kept=False) == []  # fdlibm
