"""The command, demonstrations for it, and one thread."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.commands import finetune as main

from .fakes import CARTPOLE, write_games


@pytest.fixture
def finetune(run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Runs `qwop-finetune` with these arguments in an empty folder; gives its `code`, `out` and `err`."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run_command(main, *arguments)


@pytest.fixture
def tuned(finetune: Callable[..., Any]) -> Callable[..., str]:
    """Runs the command, which must succeed; gives what it printed."""
    return lambda *arguments: finetune(*arguments).output()


@pytest.fixture
def demonstrations(tmp_path: Path) -> Path:
    """Two recorded games of CartPole, in the folder `demos`."""
    return write_games(tmp_path / "demos", CARTPOLE).folder


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small networks: more threads only get into each other's way."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
