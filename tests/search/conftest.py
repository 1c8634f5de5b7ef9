"""A small policy that searches, and the commands."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from qwop.commands import distil as distil_command
from qwop.commands import search as search_command
from qwop.datasets.origin import Origin
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import save_policy
from qwop.policies.networks import Actor, Values
from qwop.policies.policy import Policy
from qwop.search.main import searched_episode

TASK: dict[str, Any] = {"observation": "full", "frames_per_step": 3, "reward": "race", "time_limit": 3.0}
IDLE = 4
RUNNER = EnvironmentSpec("QWOP-v1", TASK)

Command = Callable[..., Any]


def runner(width: int = 32, **settings: Any) -> Policy:
    """A policy with random weights for QWOP with these settings."""
    generator = torch.Generator().manual_seed(0)
    actor, values = Actor(94, 11, (width,), generator), Values(94, (8,), generator)
    return Policy(actor, EnvironmentSpec("QWOP-v1", {**TASK, **settings}), ObservationSpec((94,)), values=values)


@pytest.fixture(scope="session")
def policy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_policy(tmp_path_factory.mktemp("policy") / "runner.safetensors", runner())


@pytest.fixture
def search(run_command: Command) -> Command:
    """Runs `qwop-search` with these arguments; gives its `code`, `out` and `err`."""
    return lambda *arguments: run_command(search_command, *arguments)


@pytest.fixture
def distil(run_command: Command) -> Command:
    """Runs `qwop-distil` with these arguments; gives its `code`, `out` and `err`."""
    return lambda *arguments: run_command(distil_command, *arguments)


def made_up(seed: int, length: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(11, size=length)


def episode(actions: NDArray[np.int64], policy: Policy, idle: int = IDLE, **claims: Any) -> Episode:
    """A game of these actions that claims to be finished."""
    game = searched_episode(policy.environment, actions, idle, "search", Origin(sha256="0" * 64))
    return replace(game, **{"outcome": "finished", **claims})


def searched(folder: Path, policy: Policy, *games: NDArray[np.int64], **claims: Any) -> Path:
    """A dataset of games of these actions, all from one start."""
    writer = DatasetWriter(folder, DatasetInfo(policy.environment, policy.observation, policy.actions))
    for actions in games or (made_up(0, 20),):
        writer.write(episode(actions, policy, **claims))
    return folder
