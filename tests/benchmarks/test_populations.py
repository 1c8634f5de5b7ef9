"""The comparison of populations."""

import subprocess
from pathlib import Path

import pytest

from .scripts import load_script


@pytest.mark.parametrize(
    ("settings", "rounds"),
    [
        ([], 10),  # 12 agents, 64 games, 8 unrolls of 64 decisions
        (["agents=1", "opponents=itself"], 120),
        (["work.num_games=128"], 5),
        (["agent=ftw"], round(120 * 32_768 / (12 * 16_000))),
    ],
)
def test_runs_of_any_settings_have_the_same_total_of_decisions(
    settings: list[str], rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    load_script("populations").evolve(tmp_path, settings, 120 * 32_768)
    assert f"rounds={rounds}" in commands[0]
    assert {*settings} <= {*commands[0]}
