"""The compiled batch as a `VecEnv` of Stable-Baselines3."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from qwop.envs.qwop.env import QWOPEnv

vec_env = pytest.importorskip("stable_baselines3.common.vec_env", reason="needs stable_baselines3 (the extra 'sb3')")

pytestmark = pytest.mark.needs(module="stable_baselines3")

TASK = {"frames_per_step": 6, "max_idle_frames": 5, "time_limit": 9.0}


def test_a_batch_is_as_many_environments_of_stable_baselines() -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples/ppo_with_stable_baselines.py"))
    batch, loop = example["BatchVecEnv"](3, **TASK), vec_env.DummyVecEnv([lambda: QWOPEnv(**TASK)] * 3)
    batch.seed(5)
    loop.seed(5)
    np.testing.assert_array_equal(batch.reset(), loop.reset())
    generator = np.random.default_rng(0)
    ends = 0
    for _ in range(40):
        actions = generator.integers(0, 11, 3)
        for _ in range(4):
            *rows, infos = batch.step(actions)
            *same_rows, same_infos = loop.step(actions)
            for row, same in zip(rows, same_rows, strict=True):
                np.testing.assert_array_equal(row, same)
            for game in np.flatnonzero(rows[2]):
                ends += 1
                last, same_last = infos[game], same_infos[game]
                np.testing.assert_array_equal(last["terminal_observation"], same_last["terminal_observation"])
                assert last["TimeLimit.truncated"] == same_last["TimeLimit.truncated"]
                assert last["distance"] == same_last["distance"]
    assert ends > 3
