"""The command of the agents."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from qwop.finetune.main import main

Finetune = Callable[..., tuple[int, str]]
"""`qwop-finetune` with these arguments: its exit code, and what it said on the error stream."""


@pytest.fixture
def finetune(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Finetune:
    """Runs the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["qwop-finetune", *arguments])
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = exit_.code
        return code, capsys.readouterr().err

    return call
