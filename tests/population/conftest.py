"""The command of a population, and populations small enough for a test."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from qwop.population.main import main

Command = Callable[..., tuple[int, str, str]]
"""`qwop-population` with these arguments: its exit code, and what it said on both streams."""

SMALL = (
    "agents=3", "agent=vtrace", "agent.hidden=[16]", "agent.memory=16", "work.num_games=4", "work.steps=10",
    "work.unrolls=2", "work.opponents=2", "evolution.burn_in=0", "evolution.better=0.5", "race.time_limit=4",
    "evaluation.games=3", "video=false",
)  # fmt: skip


@pytest.fixture
def population(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Runs the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["qwop-population", *arguments])
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = exit_.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def small() -> tuple[str, ...]:
    """Settings of a population of three tiny agents."""
    return SMALL
