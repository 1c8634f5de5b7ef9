"""Gymnasium's own tools on QWOP-v1: wrappers, statistics, copies, `play`, windows."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import vector as wrappers
from qwop.common.errors import BadInput
from qwop.envs.names import ACTION_KEYS, ACTIONS, KEY_O, KEY_P, KEY_Q, KEY_W
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.vector import QWOPVectorEnv

GAMES = 5
TASK: dict[str, Any] = {"frames_per_step": 6, "max_idle_frames": 4, "time_limit": 12.0}

Vector = VectorEnv[Any, Any, Any]


def batch(mode: str = "NextStep", **more: Any) -> Vector:
    return gymnasium.make_vec("qwop/QWOP-v1", num_envs=GAMES, autoreset_mode=mode, **TASK, **more)


def actions_of(game: int) -> Any:
    """The same decisions for a game wherever it is played."""
    return np.repeat(np.random.default_rng(game).integers(0, 11, 400), 5)


def statistics_alone(game: int, decisions: int) -> list[tuple[int, float]]:
    """Length and return of every episode that ends in so many decisions of a single environment."""
    env = QWOPEnv(**TASK)
    env.reset(seed=game)
    ended, length, total = [], 0, 0.0
    for action in actions_of(game)[:decisions]:
        _, reward, terminated, truncated, _ = env.step(action)
        length, total = length + 1, total + reward
        if terminated or truncated:
            ended.append((length, total))
            env.reset()
            length, total = 0, 0.0
    return ended


@pytest.mark.parametrize("mode", AutoresetMode)
def test_recorded_statistics_are_those_of_single_environments(mode: AutoresetMode) -> None:
    env = wrappers.RecordEpisodeStatistics(batch(mode.value), buffer_length=1000)
    assert env.metadata["autoreset_mode"] is mode
    env.reset(seed=0)
    decided = np.zeros(GAMES, dtype=int)
    over = np.zeros(GAMES, dtype=bool)
    ended: list[list[tuple[int, float]]] = [[] for _ in range(GAMES)]
    for _ in range(250):
        if mode is AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})
            over = np.zeros(GAMES, dtype=bool)
        chosen = [actions_of(game)[decided[game]] for game in range(GAMES)]
        _, _, terminated, truncated, infos = env.step(np.array(chosen))
        decided += ~over if mode is AutoresetMode.NEXT_STEP else 1
        over = terminated | truncated
        for game in np.flatnonzero(over):
            ended[game].append((int(infos["episode"]["l"][game]), float(infos["episode"]["r"][game])))
    for game in range(GAMES):
        np.testing.assert_allclose(ended[game], statistics_alone(game, decided[game]), rtol=1e-12)
    assert sum(map(len, ended)) > 3 * GAMES


def test_the_next_step_begins_the_next_game_as_a_reset_does() -> None:
    env, alone = batch(), QWOPEnv(**TASK)
    env.reset(seed=0)
    alone.reset(seed=0)
    over = False
    for action in actions_of(0)[:200]:
        observations, rewards, terminated, truncated, infos = env.step(np.full(GAMES, action))
        if over:
            observation, info = alone.reset()
            assert (rewards[0], terminated[0], truncated[0]) == (0.0, False, False)
        else:
            observation, reward, *ends, info = alone.step(action)
            assert (rewards[0], terminated[0], truncated[0]) == (reward, *ends)
        over = bool(terminated[0] or truncated[0])
        np.testing.assert_array_equal(observations[0], observation)
        assert infos["frames"][0] == info["frames"]
        assert infos["clock"][0] == info["clock"]
        assert "final_obs" not in infos


def test_without_autoreset_a_game_that_ended_must_be_reset() -> None:
    env = QWOPVectorEnv(2, autoreset_mode="Disabled", frames_per_step=60)
    env.reset(seed=0)
    for _ in range(10):
        _, _, terminated, _, _ = env.step(np.array([2, 10]))
        if terminated.any():
            break
    assert terminated.tolist() == [True, False]
    before = env.states
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"environments \[0\] have ended"):
        env.step(np.array([2, 10]))
    env.reset(options={"reset_mask": terminated})
    np.testing.assert_array_equal(env.states[1], before[1])
    env.step(np.array([2, 10]))


def test_an_unknown_autoreset_mode_is_told_in_one_line() -> None:
    with pytest.raises(BadInput, match="autoreset_mode='later': expected one of NextStep, SameStep, Disabled"):
        batch("later")


WRAPPERS: list[Callable[[Vector], Vector]] = [
    wrappers.NormalizeObservation,
    wrappers.NormalizeReward,
    lambda env: wrappers.ClipReward(env, -1, 1),
    lambda env: wrappers.DtypeObservation(env, np.float64),
    lambda env: wrappers.TransformAction(env, lambda actions: actions, env.action_space),
    wrappers.DictInfoToList,
]


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_gymnasiums_vector_wrappers_work(wrap: Callable[[Vector], Vector]) -> None:
    env = wrap(batch())
    observations, _ = env.reset(seed=0)
    for action in actions_of(0)[:60]:
        observations, rewards, *_ = env.step(np.full(GAMES, action))
        assert observations in env.observation_space
        assert np.isfinite(observations).all()
        assert np.isfinite(rewards).all()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_tensors_come_out_of_numpy_to_torch(mode: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat", reason="gymnasium[torch] is not installed")
    from gymnasium.wrappers.vector import NumpyToTorch

    env = NumpyToTorch(batch(mode))
    observations, infos = env.reset(seed=0)
    assert observations.dtype == torch.float32
    ended = 0
    for action in actions_of(0)[:150]:
        observations, _, terminated, truncated, infos = env.step(torch.full((GAMES,), int(action)))
        assert infos["outcome"].dtype == torch.int64
        ended += int((terminated | truncated).sum())
    assert ended


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_pictures_are_shown_as_fast_as_decisions_are_made(frames: int) -> None:
    single = gymnasium.make("qwop/QWOP-v1", frames_per_step=frames, render_mode="rgb_array")
    many = gymnasium.make_vec("qwop/QWOP-v1", num_envs=2, frames_per_step=frames, render_mode="rgb_array")
    assert single.metadata["render_fps"] == many.metadata["render_fps"] == 30 / frames


def played_on(env: Any, actions: Any) -> list[Any]:
    """Results of the steps, up to the end of a single game; a batch goes on with the next."""
    rows = []
    for action in actions:
        rows.append(env.step(action))
        if np.ndim(rows[-1][2]) == 0 and (rows[-1][2] or rows[-1][3]):
            break
    return rows


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_is_a_game_of_its_own_that_goes_on_alike(duplicate: Callable[[Any], Any]) -> None:
    task = {"max_idle_frames": 9, "delay": 0.3}
    single, many = QWOPEnv(render_mode="rgb_array", **task), QWOPVectorEnv(17, num_threads=2, **task)
    for env, actions in ((single, actions_of(1)[:200]), (many, np.stack([actions_of(i)[:200] for i in range(17)], 1))):
        env.reset(seed=3)
        for action in actions[:12]:
            env.step(action)
        if env is single:
            env.render()
        twin = duplicate(env)
        rows = [played_on(one, actions[12:]) for one in (env, twin)]
        for (seen, reward, *_), (same_seen, same_reward, *_) in zip(*rows, strict=True):
            np.testing.assert_array_equal(seen, same_seen)
            np.testing.assert_array_equal(reward, same_reward)
        twin.close()
        env.close()


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


def test_a_window_follows_the_game(headless: Any) -> None:
    env = gymnasium.make("qwop/QWOP-v1", render_mode="human", frames_per_step=1)
    env.reset(seed=0)
    assert env.render() is None
    first = headless.surfarray.array3d(headless.display.get_surface())
    for _ in range(5):
        env.step(3)
    assert (headless.surfarray.array3d(headless.display.get_surface()) != first).any()
    env.close()
    assert not headless.display.get_init()


def test_a_window_without_pygame_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pygame", None)
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match=r"pip install 'qwop\[window\]'"):
        gymnasium.make("qwop/QWOP-v1", render_mode="human")


@pytest.mark.parametrize("make", [QWOPEnv, lambda **given: QWOPVectorEnv(2, **given)])
def test_an_unknown_render_mode_is_told_in_one_line(make: Callable[..., Any]) -> None:
    with pytest.raises(BadInput, match=r"render_mode='ansi': expected one of .*rgb_array"):
        make(render_mode="ansi")


def test_a_click_on_the_windows_cross_ends_the_game(headless: Any) -> None:
    env = gymnasium.make("qwop/QWOP-v1", render_mode="human", frames_per_step=1)
    env.reset(seed=0)
    headless.event.post(headless.event.Event(headless.QUIT))
    with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="the window was closed"):
        env.step(3)
    assert not headless.display.get_init()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="make a new one"):
        env.step(3)
