"""Atari from a recorded game to training: what the page records is what a clone sees."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qwop.datasets.reader import Dataset, open_dataset
from qwop.datasets.schema import DatasetInfo
from qwop.datasets.writer import DatasetWriter
from qwop.envs.spec import EnvironmentSpec, ObservationSpec
from qwop.policies.files import load_policy
from qwop.policies.rollout import play
from qwop.pretrain.clone import clone
from qwop.pretrain.settings import CloningSettings
from qwop.recorder.page.environment_game import EnvironmentGame
from qwop.recorder.page.environment_keys import key_map

pytestmark = pytest.mark.needs(module="ale_py")

SPEC = EnvironmentSpec("ALE/Breakout-v5", {"size": 36, "stack": 2, "time_limit": 1.0})  # 15 decisions
FIRE, LEFT = 2, 8  # keys, as bits

EXAMPLE = Path(__file__).parents[2] / "examples" / "freeway.yaml"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Two games that a person played on the recorder's page."""
    env = SPEC.make(render_mode="rgb_array")
    info = DatasetInfo(SPEC, ObservationSpec((2, 36, 36), "uint8"), 4)
    writer = DatasetWriter(tmp_path_factory.mktemp("atari") / "games", info)
    for _ in range(2):
        game = EnvironmentGame(env, key_map(env, {}).action, info, "me", 0.05)
        game.advance([FIRE] * 3 + [LEFT] * 20)
        assert game.over
        writer.write(game.episode())
    env.close()
    return open_dataset(writer.folder)


def test_a_recorded_game_holds_the_preprocessed_observations_of_its_seed_and_actions(dataset: Dataset) -> None:
    episode = dataset[0]
    env = SPEC.make()
    seen = [env.reset(seed=episode.seed)[0], *(env.step(int(action))[0] for action in episode.actions)]
    np.testing.assert_array_equal(episode.observations, seen)
    assert len(episode) == 15
    assert episode.truncated


def test_recorded_games_are_cloned_and_the_clone_plays(dataset: Dataset) -> None:
    policy = clone(list(dataset), dataset.info, CloningSettings(epochs=1, batch_size=8, hidden=(16,)), seed=0)
    assert policy.environment == SPEC
    (game,) = play(policy, episodes=1, seed=0, greedy=True, idle_limit=5, keep_observations=False)
    assert 5 <= len(game) <= 15
    assert game.observations.shape == (1, 2, 36, 36)


@pytest.mark.slow
def test_sparse_rewards_are_looked_for_with_long_frame_skips_and_played_for_with_the_usual_ones(
    tuned: Callable[..., str], tmp_path: Path
) -> None:
    tuned(
        f"schedule={EXAMPLE}", "policy=scratch", "environment=ALE/Freeway-v5", "schedule.scale=0.0005", "out=run",
        "+schedule.phases.find.environment.time_limit=2", "loop.num_envs=2", "loop.steps=4", "algorithm.hidden=[8]",
        "evaluation.episodes=1", "evaluation.drawn=0", "video=false",
    )  # fmt: skip
    policies = [load_policy(tmp_path / "run" / f"{name}.safetensors") for name in ("phases/1-find", "policy")]
    assert [policy.environment.settings["frameskip"] for policy in policies] == [20, 4]
