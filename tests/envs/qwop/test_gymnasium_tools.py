"""Gymnasium's own tools on QWOP-v1: wrappers, `play`, windows."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import vector as wrappers
from qwop.envs.names import ACTION_KEYS, ACTIONS, KEY_O, KEY_P, KEY_Q, KEY_W
from qwop.envs.qwop.env import QWOPEnv

GAMES = 5
TASK: dict[str, Any] = {"frames_per_step": 6, "max_idle_frames": 4, "time_limit": 12.0}

Vector = VectorEnv[Any, Any, Any]


def batch(mode: str = "NextStep", **more: Any) -> Vector:
    return gymnasium.make_vec("qwop/QWOP-v1", num_envs=GAMES, autoreset_mode=mode, **TASK, **more)


@pytest.mark.parametrize("wrap", [wrappers.RecordEpisodeStatistics, wrappers.NormalizeReward, wrappers.DictInfoToList])
def test_gymnasiums_vector_wrappers_work(wrap: Callable[[Vector], Vector]) -> None:
    env = wrap(batch())
    env.reset(seed=0)
    for action in np.random.default_rng(0).integers(0, 11, 12).repeat(5):
        observations, rewards, *_ = env.step(np.full(GAMES, action))
        assert observations in env.observation_space
        assert np.isfinite(rewards).all()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_gymnasium_knows_the_mode_and_the_pace(mode: AutoresetMode) -> None:
    env = batch(mode.value)
    assert env.metadata["autoreset_mode"] is mode
    single = gymnasium.make("qwop/QWOP-v1", **TASK)
    assert single.metadata["render_fps"] == env.metadata["render_fps"] == 5


def test_keys_of_the_keyboard_stand_for_actions() -> None:
    bits = {ord("q"): KEY_Q, ord("w"): KEY_W, ord("o"): KEY_O, ord("p"): KEY_P}
    mapped = QWOPEnv().get_keys_to_action()
    assert len(mapped) == len(ACTIONS) - 1
    for pressed, action in mapped.items():
        assert sum(bits[key] for key in pressed) == ACTION_KEYS[action]


@pytest.fixture
def headless(monkeypatch: pytest.MonkeyPatch) -> Any:
    """pygame without a display; skips without pygame."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    return pytest.importorskip("pygame", reason="pygame is not installed (the extra 'window')")


def test_gymnasiums_play_plays_what_is_typed(headless: Any) -> None:
    from gymnasium.utils.play import play

    played: list[int] = []

    def typed(_: Any, __: Any, action: int, *___: Any) -> None:
        played.append(action)
        keys = {2: (headless.K_q, headless.K_p), 4: (headless.K_ESCAPE,)}.get(len(played), ())
        for key in keys:
            headless.event.post(headless.event.Event(headless.KEYDOWN, key=key))

    env = gymnasium.make("qwop/QWOP-v1", render_mode="rgb_array")
    play(env, noop=10, fps=200, callback=typed)
    assert played[:4] == [10, 10, ACTIONS.index("qp"), ACTIONS.index("qp")]


@pytest.mark.filterwarnings("ignore:.*HumanRendering wrapper")
def test_gymnasiums_window_follows_the_game(headless: Any) -> None:
    env = gymnasium.make("qwop/QWOP-v1", render_mode="human", frames_per_step=1)
    env.reset(seed=0)
    assert env.render() is None
    first = headless.surfarray.array3d(headless.display.get_surface())
    for _ in range(5):
        env.step(3)
    assert (headless.surfarray.array3d(headless.display.get_surface()) != first).any()
    env.close()
    assert not headless.display.get_init()
