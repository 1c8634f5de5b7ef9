"""A race as a PettingZoo parallel environment."""

import runpy
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from qwop.envs.race.vector import QWOPRaceVectorEnv

pettingzoo_test = pytest.importorskip("pettingzoo.test")


@pytest.fixture(scope="module")
def race() -> Any:
    return runpy.run_path(str(Path(__file__).parents[2] / "examples/pettingzoo_race.py"))["Race"]


@pytest.mark.parametrize("runners", [2, 3])
def test_it_passes_pettingzoos_tests(race: Any, runners: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # opinions on observations without bounds
        pettingzoo_test.parallel_api_test(race(runners=runners, time_limit=5.0), num_cycles=120)
    make = lambda: race(runners=runners, max_idle_frames=10, time_limit=5.0)  # noqa: E731
    pettingzoo_test.parallel_seed_test(make, num_cycles=60)


def test_it_is_one_race_of_the_batch(race: Any) -> None:
    env, batch = race(max_idle_frames=20), QWOPRaceVectorEnv(2, max_idle_frames=20)
    seen, infos = env.reset(seed=5)
    rows, row_infos = batch.reset(seed=5)
    random = np.random.default_rng(0)
    for step in range(400):
        assert [*seen] == ["runner_0", "runner_1"]
        for row, agent in enumerate(seen):
            assert np.array_equal(seen[agent], rows[row])
            assert infos[agent]["distance"] == row_infos["distance"][row]
        if not env.agents:
            break
        if step % 5 == 0:
            actions = random.integers(0, 11, 2)
        seen, rewards, terminated, truncated, infos = env.step(dict(zip(env.agents, actions, strict=True)))
        rows, paid, ended, stopped, row_infos = batch.step(actions)
        rows = row_infos.get("final_obs", rows)
        assert [*rewards.values()] == paid.tolist()
        assert [*terminated.values()] == ended.tolist()
        assert [*truncated.values()] == stopped.tolist()
    assert not env.agents
    assert {infos[agent]["outcome"] for agent in infos} <= {"fell", "finished"}
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step({})
