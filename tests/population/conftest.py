"""The command of a population, and populations small enough for a test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import population as main

Command = Callable[..., tuple[int, str, str]]
"""`qwop-population` with these arguments: its exit code, and what it said on both streams."""

SMALL = (
    "agents=3", "agent=vtrace", "agent.hidden=[16]", "agent.memory=16", "work.num_games=4", "work.steps=10",
    "work.unrolls=2", "work.opponents=2", "evolution.burn_in=0", "evolution.better=0.5", "race.time_limit=4",
    "evaluation.games=3", "video=false",
)  # fmt: skip


@pytest.fixture
def population(run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Runs the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run_command(main, *arguments)


@pytest.fixture
def small() -> tuple[str, ...]:
    """Settings of a population of three tiny agents."""
    return SMALL
