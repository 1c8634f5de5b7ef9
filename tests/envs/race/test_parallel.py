"""A race as a PettingZoo parallel environment."""

import warnings

import gymnasium
import numpy as np
import pytest
from qwop.envs.race.vector import QWOPRaceVectorEnv

pettingzoo_test = pytest.importorskip("pettingzoo.test")


def make(**task: object):  # type: ignore[no-untyped-def]
    from qwop.envs.race.parallel import QWOPRaceParallelEnv

    return QWOPRaceParallelEnv(**task)  # type: ignore[arg-type]


@pytest.mark.parametrize("teams", [2, 3])
def test_it_passes_pettingzoos_tests(teams: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # opinions on observations without bounds
        pettingzoo_test.parallel_api_test(make(teams=teams, time_limit=5.0), num_cycles=120)
    pettingzoo_test.parallel_seed_test(lambda: make(teams=teams, max_idle_frames=10, time_limit=5.0), num_cycles=60)


def test_it_is_one_race_of_the_batch() -> None:
    env, batch = make(max_idle_frames=20), QWOPRaceVectorEnv(2, max_idle_frames=20, autoreset_mode="Disabled")
    seen, infos = env.reset(seed=5)
    rows, told = batch.reset(seed=5)
    random = np.random.default_rng(0)
    for step in range(400):
        assert [*seen] == ["runner_0", "runner_1"]
        for row, agent in enumerate(seen):
            assert np.array_equal(seen[agent], rows[row])
            assert infos[agent]["distance"] == told["distance"][row]
        if not env.agents:
            break
        if step % 5 == 0:
            actions = random.integers(0, 11, 2)
        seen, rewards, terminated, truncated, infos = env.step(dict(zip(env.agents, actions, strict=True)))
        rows, paid, ended, stopped, told = batch.step(actions)
        assert [*rewards.values()] == paid.tolist()
        assert [*terminated.values()] == ended.tolist()
        assert [*truncated.values()] == stopped.tolist()
    assert not env.agents
    assert {infos[agent]["outcome"] for agent in infos} <= {"fell", "finished"}
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step({})


def test_a_picture_shows_the_race() -> None:
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape[2] == 3
    env.close()
