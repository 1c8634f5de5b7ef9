"""The command, and a policy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwop.commands import evaluate as main
from qwop.envs.spec import EnvironmentSpec
from qwop.policies.files import save_policy

from ..fakes import untrained


@pytest.fixture
def evaluate(run_command: Callable[..., Any]) -> Callable[..., Any]:
    """Runs `qwop-evaluate` with these arguments; gives its `code`, `out` and `err`."""
    return lambda *arguments: run_command(main, *arguments)


@pytest.fixture(scope="module")
def policy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy of QWOP that falls soon."""
    spec = EnvironmentSpec("QWOP-v1", {"frames_per_step": 4, "time_limit": 3.0, "observation_lag": 1})
    return save_policy(tmp_path_factory.mktemp("policy") / "runner.safetensors", untrained(spec))
