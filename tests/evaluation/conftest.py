"""The command."""

from collections.abc import Callable
from typing import Any

import pytest
from qwop.commands import evaluate as main


@pytest.fixture
def evaluate(run_command: Callable[..., Any]) -> Callable[..., Any]:
    """Runs `qwop-evaluate` with these arguments; gives its `code`, `out` and `err`."""
    return lambda *arguments: run_command(main, *arguments)
