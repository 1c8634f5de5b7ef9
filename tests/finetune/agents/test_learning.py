"""Algorithms learn small tasks within some thousand decisions."""

from pathlib import Path
from typing import Any

import pytest
import torch
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.log import RunLog, read_metrics
from qwop.finetune.loop import build
from qwop.finetune.schedules.phase import Phase, Ramp
from qwop.policies.policy import Policy

from ..fakes import CARTPOLE
from ..runs import make_run

pytestmark = pytest.mark.slow

BALANCING: dict[str, tuple[int, dict[str, Any], dict[str, Any], float]] = {
    "acer": (
        50_000, {"reward_scale": 0.1, "learning_rate": 2e-3, "hidden": (64, 64)},
        {"num_envs": 8, "capacity": 400, "start": 50, "value_decisions": 0, "log_every": 5000}, 195,
    ),
    "ppo": (
        40_000, {"gamma": 0.99, "hidden": (64, 64), "minibatch": 256, "epochs": 4, "learning_rate": 4e-3},
        {"num_envs": 16, "steps": 64, "log_every": 10_000}, 195,
    ),
    "ddqn": (
        5_000, {"epsilon_start": 1.0, "epsilon_end": 0.02, "epsilon_share": 0.4, "hidden": (32, 32),
                "learning_rate": 1e-3},
        {"num_envs": 4, "steps": 4, "capacity": 6000, "start": 200, "batch_size": 32, "target_every": 200,
         "log_every": 1000}, 100,
    ),
}  # fmt: skip
"""Decisions, settings, and the return of the last row but one or the last."""


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", BALANCING)
def test_it_learns_to_balance_a_pole(name: str, seed: int, tmp_path: Path) -> None:
    decisions, own, live, expected = BALANCING[name]
    algorithm = ALGORITHMS[name]
    settings, log = algorithm.settings(**own), RunLog(tmp_path)
    log.open()
    observation, actions = CARTPOLE.interface()
    network = algorithm.new_network(settings, observation, actions, torch.Generator().manual_seed(seed))
    phases = (Phase("alone", decisions=decisions, learning_rate=Ramp(1.0, 0.1 if name == "ppo" else 1.0)),)
    policy = Policy(network, CARTPOLE, observation)
    build(make_run(phases, settings, algorithm.loop(**live), policy, None, log, tmp_path, seed=seed)).run()
    returns = [row["live/return"] for row in read_metrics(tmp_path) if "live/return" in row]
    assert returns[0] < 100
    assert max(returns[-2:]) > expected
