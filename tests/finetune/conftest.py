"""Sequences and episodes for the tests, every number different so that a mix-up shows, and the command."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.commands import finetune as main
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.finetune.experience.sequences import LIVE, Sequences, TruncatedObservations


def _sequences(
    n: int,
    steps: int = 4,
    actions: int = 3,
    shape: tuple[int, ...] = (2,),
    source: int = LIVE,
    first: int = 0,
    truncated_every: int = 0,
) -> Sequences:
    """n sequences; sequence i holds the numbers from (first + i)·1000; each `truncated_every`-th ends at a limit."""
    base = (first + np.arange(n))[:, None] * 1000
    t = np.arange(steps + 1)[None, :]
    size = int(np.prod(shape))
    observations = ((base + t)[..., None] + np.arange(size) / 10).reshape(n, steps + 1, *shape).astype(np.float32)
    truncated = np.zeros((n, steps), dtype=np.bool_)
    if truncated_every:
        truncated[::truncated_every, steps // 2] = True
    sequence, step = truncated.nonzero()
    seen = observations[sequence, step] + 0.5
    return Sequences(
        observations=observations,
        actions=((base + t[:, :-1]) % actions).astype(np.int64),
        rewards=(base + t[:, :-1]).astype(np.float32),
        behaviour_probabilities=np.full((n, steps, actions), 1 / actions, dtype=np.float32),
        terminated=np.zeros((n, steps), dtype=np.bool_),
        truncated=truncated,
        finals=TruncatedObservations(sequence, step, seen.astype(np.float32)),
        source=np.full(n, source, dtype=np.int8),
    )


def _episode(
    length: Any,
    first: float = 0.0,
    actions: int = 3,
    shape: tuple[int, ...] = (2,),
    terminated: bool = True,
    truncated: bool = False,
    probabilities: Any = None,
) -> Episode:
    """An episode whose first observed number counts up from `first`, as its rewards do."""
    counts = first + np.arange(length + 1)
    size = int(np.prod(shape))
    observations = (counts[:, None] + np.arange(size) / 10).reshape(length + 1, *shape).astype(np.float32)
    if probabilities is None:
        probabilities = np.full((length, actions), 1 / actions, dtype=np.float32)
    return Episode(
        observations=observations,
        actions=(np.arange(length) % actions).astype(np.int16),
        behaviour_probabilities=probabilities,
        rewards=counts[:-1].astype(np.float32),
        times=np.arange(length + 1, dtype=np.float64),
        keys=None,
        terminated=terminated,
        truncated=truncated,
        outcome="terminated" if terminated else "truncated",
        player="tests",
        source="tests",
        mu_kind="recorded",
    )


@pytest.fixture
def make_sequences() -> Callable[..., Sequences]:
    return _sequences


@pytest.fixture
def make_episode() -> Callable[..., Episode]:
    return _episode


@pytest.fixture
def finetune(run_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Runs `qwop-finetune` with these arguments in an empty folder; gives its `code`, `out` and `err`."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: run_command(main, *arguments)


@pytest.fixture
def demonstrations(tmp_path: Path, make_episode: Callable[..., Episode]) -> Path:
    """Two recorded games of CartPole, in the folder `demos`."""
    writer = DatasetWriter(tmp_path / "demos", DatasetInfo(EnvironmentSpec("CartPole-v1"), ObservationSpec((4,)), 2))
    for length in (30, 25):
        writer.write(make_episode(length, actions=2, shape=(4,)))
    return writer.folder


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small networks: more threads only get into each other's way."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
