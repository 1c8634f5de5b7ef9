"""The command of a population, and populations small enough for a test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import population as main

SMALL = (
    "agents=3", "agent=vtrace", "agent.hidden=[16]", "agent.memory=16", "work.num_games=4", "work.steps=10",
    "work.unrolls=2", "work.opponents=2", "evolution.burn_in=0", "evolution.better=0.5", "race.time_limit=4",
    "evaluation.games=3", "video=false",
)  # fmt: skip
"""Settings of a population of three tiny agents."""


@pytest.fixture
def population(run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Runs `qwop-population` of `SMALL` with more arguments in an empty folder; gives its `code`, `out` and `err`."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run_command(main, *SMALL, *arguments)


@pytest.fixture
def grown(population: Callable[..., Any]) -> Callable[..., str]:
    """Runs the command, which must succeed; gives what it printed."""
    return lambda *arguments: population(*arguments).output()


@pytest.fixture
def refused(population: Callable[..., Any]) -> Callable[..., str]:
    """Runs the command, which must be refused in one line; gives the line."""
    return lambda *arguments: population(*arguments).refusal()
