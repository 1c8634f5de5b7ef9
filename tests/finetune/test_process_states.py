"""Runs learn the same whatever a module has set for PyTorch, also where it does so in the middle."""

from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.datasets.reader import open_dataset
from qwop.datasets.schema import DatasetInfo
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.schedules.phase import FULL, NONE, Phase
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings
from qwop.search.distil import DistilSettings, distil

from ..process_states import STATES, process_state
from .fakes import CARTPOLE, make_episode
from .runs import LIVE_ONLY, SMALL, small_run

RANDOM = np.random.default_rng(0)
SEEN = torch.from_numpy(RANDOM.normal(size=(32, 4)).astype(np.float32))
ACTIONS = torch.from_numpy(RANDOM.integers(2, size=32))


def weights(network: torch.nn.Module) -> list[bytes]:
    return [one.detach().numpy().tobytes() for one in network.state_dict().values()]


def learned(name: str, folder: Path, demonstrations: Path) -> list[bytes]:
    """The weights after a short run of an algorithm, with demonstrations where it has a memory."""
    shown = NONE if name in LIVE_ONLY else FULL
    phases = (Phase("mixed", decisions=96, demonstrations=shown, weight_average=0.5),)
    run = small_run(name, phases, CARTPOLE, folder, open_dataset(demonstrations))
    run.run()
    return weights(run.agent.network)


def cloned(dropout: float) -> list[bytes]:
    observation, actions = CARTPOLE.interface()
    games = [make_episode(length, actions=2, shape=(4,)) for length in (30, 25)]
    settings = CloningSettings(epochs=2, hidden=(16,), dropout=dropout, input_noise=dropout)
    return weights(clone(games, DatasetInfo(CARTPOLE, observation, actions), settings).network)


def distilled() -> list[bytes]:
    algorithm = ALGORITHMS["ppo"]
    network = algorithm.new_network(algorithm.settings(), 4, 2, torch.Generator().manual_seed(0))
    distil(network, SEEN, ACTIONS, SEEN[:8], DistilSettings(steps=20, own_batch=8))
    return weights(network)


@pytest.mark.parametrize("name", [*SMALL, "clone", "clone without dropout", "distillation"])
def test_learning_is_the_same(name: str, tmp_path: Path, demonstrations: Path) -> None:
    def result(folder: str) -> list[bytes]:
        if name == "distillation":
            return distilled()
        return (
            cloned(0.1 if name == "clone" else 0.0)
            if "clone" in name
            else learned(name, tmp_path / folder, demonstrations)
        )

    expected = result("plain")
    for state in STATES:
        with process_state(state):
            assert result(state) == expected, state
