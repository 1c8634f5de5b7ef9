"""Stable-Baselines3 on the compiled batch."""

import importlib

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="needs stable_baselines3 (the extra 'sb3')")

from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.sb3 import BatchVecEnv
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

pytestmark = pytest.mark.needs(module="stable_baselines3")

TASK = {"frames_per_step": 6, "max_idle_frames": 5, "time_limit": 9.0}


def test_a_batch_is_as_many_environments_of_stable_baselines() -> None:
    batch, loop = BatchVecEnv(3, **TASK), DummyVecEnv([lambda: QWOPEnv(**TASK)] * 3)
    batch.seed(5)
    loop.seed(5)
    np.testing.assert_array_equal(batch.reset(), loop.reset())
    generator = np.random.default_rng(0)
    ends = 0
    for _ in range(40):
        actions = generator.integers(0, 11, 3)
        for _ in range(4):
            seen, rewards, done, infos = batch.step(actions)
            same_seen, same_rewards, same_done, same_infos = loop.step(actions)
            np.testing.assert_array_equal(seen, same_seen)
            np.testing.assert_array_equal(rewards, same_rewards)
            np.testing.assert_array_equal(done, same_done)
            for game in np.flatnonzero(done):
                ends += 1
                last, same_last = infos[game], same_infos[game]
                np.testing.assert_array_equal(last["terminal_observation"], same_last["terminal_observation"])
                assert last["TimeLimit.truncated"] == same_last["TimeLimit.truncated"]
                assert last["distance"] == same_last["distance"]
    assert ends > 3


def test_ppo_runs_and_is_evaluated() -> None:
    model = PPO("MlpPolicy", VecMonitor(BatchVecEnv(8, **TASK)), n_steps=32, batch_size=64, n_epochs=1, seed=0)
    model.learn(1024)
    assert model.ep_info_buffer
    mean, _ = evaluate_policy(model, VecMonitor(BatchVecEnv(4, **TASK)), n_eval_episodes=4)
    assert np.isfinite(mean)


@pytest.mark.parametrize("algorithm", ["DQN", pytest.param("QRDQN", marks=pytest.mark.needs(module="sb3_contrib"))])
def test_dqn_and_its_quantiles_run(algorithm: str) -> None:
    kind = DQN if algorithm == "DQN" else importlib.import_module("sb3_contrib").QRDQN
    model = kind("MlpPolicy", BatchVecEnv(4, **TASK), learning_starts=100, buffer_size=1000, batch_size=32, seed=0)
    model.learn(400)
    assert model.num_timesteps == 400


def test_a_picture_of_all_games() -> None:
    batch = BatchVecEnv(2, render_mode="rgb_array")
    batch.reset()
    picture = batch.render()
    assert picture is not None
    assert picture.shape == (800, 640, 3)
