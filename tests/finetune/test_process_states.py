"""Runs learn the same whatever a module has set for PyTorch, also where it does so in the middle."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.datasets.reader import open_dataset
from qwop.datasets.schema import DatasetInfo, Episode
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.schedules.phase import FULL, NONE, Phase
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings
from qwop.search.distil import DistilSettings, distil
from torch import Tensor

from ..process_states import STATES, process_state
from .runs import LIVE_ONLY, SMALL, small_run

SPEC = EnvironmentSpec("CartPole-v1")


def weights(network: torch.nn.Module) -> list[bytes]:
    return [one.detach().numpy().tobytes() for one in network.state_dict().values()]


def learned(name: str, folder: Path, demonstrations: Path) -> list[bytes]:
    """The weights after a short run of an algorithm, with demonstrations where it has a memory."""
    shown = NONE if name in LIVE_ONLY else FULL
    phases = (Phase("mixed", decisions=96, demonstrations=shown, weight_average=0.5),)
    run = small_run(name, phases, SPEC, folder, open_dataset(demonstrations))
    run.run()
    return weights(run.agent.network)


@pytest.mark.parametrize("name", SMALL)
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
