"""Runs learn the same whatever a module has set for PyTorch, also where it does so in the middle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.datasets.reader import open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.log import RunLog
from qwop.finetune.loop import build
from qwop.finetune.schedules.phase import Phase, Ramp
from qwop.finetune.schedules.schedule import PUBLISHED_RATE
from qwop.policies.policy import Policy
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings
from qwop.search.distil import DistilSettings, distil
from torch import Tensor

from ..process_states import STATES, process_state
from .runs import make_run

SPEC = EnvironmentSpec("CartPole-v1")
SHORT = {"capacity": 64, "start": 8, "batch_size": 8, "value_decisions": 16, "train_every": 4.0}


def weights(network: torch.nn.Module) -> list[bytes]:
    return [one.detach().numpy().tobytes() for one in network.state_dict().values()]


def learned(name: str, folder: Path, demonstrations: Path) -> list[bytes]:
    """The weights after a short run of an algorithm, with demonstrations where it has a memory."""
    folder.mkdir()
    algorithm, (observation, actions) = ALGORITHMS[name], SPEC.interface()
    hidden: dict[str, Any] = {"hidden": (16,)}
    own = algorithm.settings(**hidden)
    takes = {one for one in SHORT if hasattr(algorithm.loop, one)}
    loop = algorithm.loop(num_envs=2, steps=8, **{one: SHORT[one] for one in takes})  # type: ignore[arg-type]
    network = algorithm.new_network(own)(observation, actions, torch.Generator().manual_seed(0))
    shown = Ramp(1.0, 1.0) if "capacity" in takes else Ramp(0.0, 0.0)
    phases = (Phase("mixed", 96 / (3600 * PUBLISHED_RATE), demonstrations=shown, weight_average=0.5),)
    log = RunLog(folder)
    log.open()
    dataset = open_dataset(demonstrations) if "capacity" in takes else None
    run = build(make_run(phases, own, loop, Policy(network, SPEC, observation), dataset, log, folder))
    run.run()
    log.close()
    return weights(run.agent.network)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_learns_the_same(name: str, tmp_path: Path, demonstrations: Path) -> None:
    expected = learned(name, tmp_path / "plain", demonstrations)
    for state in STATES:
        with process_state(state):
            assert learned(name, tmp_path / state, demonstrations) == expected, state


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_clone_is_the_same(dropout: float, state: str, make_episode: Callable[..., Episode]) -> None:
    observation, actions = SPEC.interface()
    games = [make_episode(length, actions=2, shape=(4,)) for length in (30, 25)]
    settings = CloningSettings(epochs=2, hidden=(16,), dropout=dropout, input_noise=dropout)

    def cloned() -> list[bytes]:
        return weights(clone(games, DatasetInfo(SPEC, observation, actions), settings).policy.network)

    expected = cloned()
    with process_state(state):
        assert cloned() == expected


@pytest.mark.parametrize("state", STATES)
def test_distillation_is_the_same(state: str) -> None:
    random = np.random.default_rng(0)
    states = torch.from_numpy(random.normal(size=(32, 4)).astype(np.float32))
    actions = torch.from_numpy(random.integers(2, size=32))

    def distilled(states: Tensor = states, actions: Tensor = actions) -> list[bytes]:
        network = ALGORITHMS["ppo"].new_network(ALGORITHMS["ppo"].settings())(4, 2, torch.Generator().manual_seed(0))
        distil(network, states, actions, states[:8], DistilSettings(steps=20, own_batch=8))
        return weights(network)

    expected = distilled()
    with process_state(state):
        assert distilled() == expected
