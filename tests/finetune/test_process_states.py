"""Runs learn the same whatever a module has set for PyTorch, also where it does so in the middle."""

from pathlib import Path

import numpy as np
import pytest
import torch
from qwop.datasets.reader import open_dataset
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.schedules.phase import FULL, NONE, Phase
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings
from qwop.search.distil import DistilSettings, distil

from ..process_states import STATES, process_state
from .fakes import CARTPOLE
from .runs import LIVE_ONLY, SMALL, small_run


def learned(name: str, folder: Path, demonstrations: Path) -> list[bytes]:
    """The weights of a clone, after a distillation, or after a short run of an algorithm, with demonstrations where it
    has a memory."""
    games = open_dataset(demonstrations)
    if "clone" in name:
        noise = 0.0 if "without" in name else 0.1
        settings = CloningSettings(epochs=2, hidden=(16,), dropout=noise, input_noise=noise)
        network = clone(list(games), games.info, settings).network
    elif name == "distillation":
        ppo, random = ALGORITHMS["ppo"], np.random.default_rng(0)
        network = ppo.new_network(ppo.settings(), 4, 2, torch.Generator().manual_seed(0))
        seen = torch.from_numpy(random.normal(size=(32, 4)).astype(np.float32))
        distil(network, seen, torch.from_numpy(random.integers(2, size=32)), seen[:8], DistilSettings(steps=20))
    else:
        shown = NONE if name in LIVE_ONLY else FULL
        phases = (Phase("mixed", decisions=96, demonstrations=shown, weight_average=0.5),)
        run = small_run(name, phases, CARTPOLE, folder, games)
        run.run()
        network = run.agent.network
    return [one.detach().numpy().tobytes() for one in network.state_dict().values()]


@pytest.mark.parametrize("name", [*SMALL, "clone", "clone without dropout", "distillation"])
def test_learning_is_the_same(name: str, tmp_path: Path, demonstrations: Path) -> None:
    expected = learned(name, tmp_path / "plain", demonstrations)
    for state in STATES:
        with process_state(state):
            assert learned(name, tmp_path / state, demonstrations) == expected, state
