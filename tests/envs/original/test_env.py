"""`QWOPOriginal-v1` on the toy page."""

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from qwop.envs.names import ACTIONS, FEATURES
from qwop.envs.original.env import QWOPOriginalEnv
from qwop.envs.qwop.observations import observe_as, observe_start
from qwop.envs.qwop.task import QWOPTask

JOINTS = [column for column, name in enumerate(FEATURES) if name.startswith("joint.")]
Q, QO, P, NONE = (ACTIONS.index(name) for name in ("q", "qo", "p", "none"))


@pytest.fixture(scope="module")
def opened(chromium: None, fake: Path) -> Iterator[QWOPOriginalEnv]:
    env = QWOPOriginalEnv(folder=str(fake), render_mode="rgb_array")
    yield env
    env.close()


@pytest.fixture
def env(opened: QWOPOriginalEnv, monkeypatch: pytest.MonkeyPatch) -> Iterator[QWOPOriginalEnv]:
    """One browser for all tests; a test sets the task that it wants."""
    monkeypatch.setattr(opened, "task", QWOPTask())
    return opened


@pytest.mark.filterwarnings("ignore:.*A Box observation space")
def test_passes_gymnasiums_checker(env: QWOPOriginalEnv) -> None:
    # A second browser would tell the checker nothing more.
    check_env(env, skip_render_check=True)


def test_a_step_is_a_decision_of_the_game(env: QWOPOriginalEnv) -> None:
    env.task = QWOPTask(frames_per_step=4)
    _, info = env.reset(seed=1)
    assert (info["clock"], info["time"], info["frames"]) == (pytest.approx(1 / 30), 0, 0)
    start = env.state
    env.step(NONE)
    before = env.state
    seen, reward, terminated, truncated, info = env.step(QO)
    assert info["frames"] == 4
    assert info["clock"] == pytest.approx(9 / 30)
    assert info["time"] == pytest.approx(4 / 30)
    assert info["distance"] == env.state[0, 0] / 10
    assert (terminated, truncated, info["outcome"]) == (False, False, "running")
    assert reward == 2 * (env.state[0, 0] - before[0, 0]) > 0
    assert start[0, 0] != before[0, 0]
    np.testing.assert_array_equal(np.delete(seen, JOINTS), np.delete(observe_as("features", env.state), JOINTS))
    np.testing.assert_array_equal(seen[JOINTS], np.float32(env.state[1, 2] - np.arange(11) / 8))  # the page's own
    assert env.state[1, 5] == 5  # the toy's head: Q and O
    assert env.render().shape == (400, 640, 3)  # type: ignore[union-attr]


def test_a_lagging_observation_is_one_frame_old(env: QWOPOriginalEnv) -> None:
    env.task = QWOPTask(observation_lag=1)
    seen, _ = env.reset()
    np.testing.assert_array_equal(seen, observe_start())
    for _ in range(2):
        env.advance(1)
    before = env.state
    seen, *_ = env.advance(1)
    np.testing.assert_array_equal(np.delete(seen, JOINTS), np.delete(observe_as("features", before), JOINTS))


def test_idle_frames_and_delays_are_those_of_the_simulator(env: QWOPOriginalEnv) -> None:
    env.task = QWOPTask(max_idle_frames=30, delay=0.5)
    simulator = gymnasium.make("QWOP-v1", max_idle_frames=30, delay=0.5)
    late = []
    for seed in range(5):
        info, expected = env.reset(seed=seed)[1], simulator.reset(seed=seed)[1]
        assert info["frames"] == info["idle_frames"] == expected["idle_frames"]
        assert info["clock"] == pytest.approx(expected["clock"])
        for action in (QO, NONE):
            info, expected = env.step(action)[4], simulator.step(action)[4]
            assert (info["late"], info["time"]) == (expected["late"], expected["time"])
            late.append(info["late"])
    assert 0 < sum(late) < len(late)


@pytest.mark.parametrize(("action", "outcome"), [(P, "fell"), (Q, "finished")])
def test_a_game_ends_as_the_page_says(env: QWOPOriginalEnv, action: int, outcome: str) -> None:
    env.reset()
    for _ in range(100):
        *_, terminated, truncated, info = env.step(action)
        if terminated:
            break
    assert (info["outcome"], terminated, truncated) == (outcome, True, False)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(action)


def test_a_game_is_truncated_at_the_time_limit(env: QWOPOriginalEnv) -> None:
    env.task = QWOPTask(time_limit=0.5)
    env.reset()
    ends = [env.step(NONE)[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]
