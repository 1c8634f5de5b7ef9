"""Learning from pictures: every algorithm but RLPD, from a dataset of pictures through cloning to a policy file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from qwop.datasets.from_keys import episode_from_keys, qwop_info
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec
from qwop.finetune.agents.registry import ALGORITHMS
from qwop.finetune.log import RunLog
from qwop.finetune.loop import build
from qwop.finetune.schedules.phase import Phase, Ramp
from qwop.policies.files import load_policy, save_policy
from qwop.policies.policy import Policy
from qwop.policies.rollout import play
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings

from .runs import make_run

pytestmark = pytest.mark.slow

TASK: dict[str, Any] = {"observation": "pixels", "stack": 2, "size": 36, "colour": True, "time_limit": 3.0}
SPEC = EnvironmentSpec("QWOP-v1", TASK)
HOURS = 2 * 5 / 3600 / 10  # of one iteration

LOOPS: dict[str, dict[str, Any]] = {
    "acer": {"capacity": 24, "start": 4, "value_decisions": 10},
    "dqn": {"capacity": 60, "start": 10, "batch_size": 8, "target_every": 15},
    "ddqn": {"capacity": 60, "start": 10, "batch_size": 8, "target_every": 15},
    "ppo": {},
    "vtrace": {},
    "ftw": {},
}
ALGORITHM: dict[str, dict[str, Any]] = {
    "acer": {},
    "dqn": {"hidden": (16,)},
    "ddqn": {"hidden": (16,)},
    "ppo": {"hidden": (16,), "minibatch": 8},
    "vtrace": {"hidden": (16,), "memory": 8},
    "ftw": {"hidden": (16,), "memory": 8, "latent": 16, "period": 3},
}
LIVE_ONLY = ("ppo", "vtrace", "ftw")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    info, random = qwop_info(**TASK), np.random.default_rng(0)
    writer = DatasetWriter(tmp_path_factory.mktemp("pictures") / "games", info)
    for _ in range(3):
        keys = random.choice([0, 1, 9, 6], size=10).repeat(3).astype(np.uint8)
        writer.write(episode_from_keys(keys, info, player="tests", source="tests", epsilon=0.1))
    return open_dataset(writer.folder)


def small(name: str) -> Any:
    return ALGORITHMS[name].settings(**ALGORITHM[name])


def new_policy(name: str) -> Policy:
    observation, actions = SPEC.interface()
    network = ALGORITHMS[name].new_network(small(name))(observation, actions, torch.Generator().manual_seed(0))
    return Policy(network, SPEC, observation)


def learn(folder: Path, name: str, policy: Policy, dataset: Dataset | None, phase: Phase) -> None:
    loop = ALGORITHMS[name].loop(num_envs=2, steps=5, overlap=False, **LOOPS[name])
    log = RunLog(folder)
    log.open()
    build(make_run((phase,), small(name), loop, policy, dataset, log, folder)).run()
    log.close()


@pytest.mark.parametrize("name", LOOPS)
def test_algorithms_learn_from_pictures_and_its_policy_plays_from_its_file(
    tmp_path: Path, name: str, dataset: Dataset
) -> None:
    policy = new_policy(name)
    before = torch.cat([p.detach().flatten().clone() for p in policy.network.parameters()])
    more: dict[str, Any] = {} if name in LIVE_ONLY else {"demonstrations": Ramp(0.5, 0.5)}
    learn(tmp_path, name, policy, None if name in LIVE_ONLY else dataset, Phase("learn", 4 * HOURS, **more))
    assert not torch.equal(before, torch.cat([p.detach().flatten() for p in policy.network.parameters()]))
    loaded = load_policy(save_policy(tmp_path / "policy.safetensors", policy))
    assert loaded.observation == policy.observation
    games = [list(play(one, episodes=2, seed=0, greedy=False)) for one in (policy, loaded)]
    for one, other in zip(*games, strict=True):
        assert one.observations.dtype == np.uint8
        assert np.array_equal(one.actions, other.actions)


def test_a_clone_of_pictures_learns_its_games_and_can_be_continued(tmp_path: Path, dataset: Dataset) -> None:
    settings = CloningSettings(epochs=40, patience=40, batch_size=8, hidden=(32,), dropout=0.0, label_smoothing=0.0)
    made = clone(list(dataset), dataset.info, settings, seed=0)
    losses = [epoch.training_loss for epoch in made.epochs]
    assert losses[-1] < 0.7 * losses[0]
    learn(tmp_path, "ppo", made.policy, None, Phase("learn", 2 * HOURS))


def test_a_row_of_pictures_gives_the_same_probabilities_whatever_its_neighbours() -> None:
    policy = new_policy("dqn")
    pictures = np.random.default_rng(0).integers(256, size=(70, *policy.observation.shape)).astype(np.uint8)
    together = policy.probabilities(pictures)
    assert np.array_equal(policy.probabilities(pictures[5:6]), together[5:6])
    assert np.array_equal(policy.probabilities(pictures[66:]), together[66:])
