"""Learning from pictures: every algorithm but RLPD, from a dataset of pictures through cloning to a policy file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.datasets.from_keys import qwop_info
from qwop.datasets.reader import Dataset
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.schedules.phase import NONE, Phase, Ramp
from qwop.policies.files import load_policy, save_policy
from qwop.policies.rollout import play

from ..fakes import dataset_of, game_of
from .fakes import weights_of
from .runs import LIVE_ONLY, SMALL, small_run

pytestmark = pytest.mark.slow

TASK: dict[str, Any] = {"observation": "pixels", "stack": 2, "size": 36, "colour": True, "time_limit": 3.0}
SPEC = EnvironmentSpec("QWOP-v1", TASK)
HOURS = 2 * 5 / 3600 / 10  # of one iteration


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    info, random = qwop_info(**TASK), np.random.default_rng(0)
    games = [game_of(random.choice([0, 1, 9, 6], size=10).repeat(3), info) for _ in range(3)]
    return dataset_of(tmp_path_factory.mktemp("pictures") / "games", info, *games)


@pytest.mark.parametrize("name", [name for name in SMALL if name != "rlpd"])
def test_algorithms_learn_from_pictures_and_its_policy_plays_from_its_file(
    tmp_path: Path, name: str, dataset: Dataset
) -> None:
    phase = Phase("learn", 4 * HOURS, demonstrations=NONE if name in LIVE_ONLY else Ramp(0.5, 0.5))
    run = small_run(name, (phase,), SPEC, tmp_path, dataset, num_envs=2, overlap=False)
    policy = run.policy_in(0)
    before = weights_of(policy.network)
    run.run()
    assert not torch.equal(before, weights_of(policy.network))
    loaded = load_policy(save_policy(tmp_path / "policy.safetensors", policy))
    assert loaded.observation == policy.observation
    games = [list(play(one, episodes=2, seed=0, greedy=False)) for one in (policy, loaded)]
    for one, other in zip(*games, strict=True):
        assert one.observations.dtype == np.uint8
        assert np.array_equal(one.actions, other.actions)
