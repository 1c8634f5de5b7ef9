"""QWOP-v1: one game, decision by decision, and what its batch has besides the contract of all games."""

import gc
import multiprocessing
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.envs import replay
from qwop.envs.names import ACTION_KEYS, KEY_O, KEY_P, KEY_Q, KEY_W
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.observations import bent_knee, observe_as, observe_start
from qwop.envs.qwop.rewards import rewards_along
from qwop.envs.qwop.session import Session
from qwop.envs.qwop.vector import QWOPVectorEnv

ACTIONS = st.lists(st.tuples(st.integers(0, 10), st.integers(1, 8)), min_size=1, max_size=12).map(
    lambda held: np.repeat([action for action, _ in held], [steps for _, steps in held])
)

HOLD_QP = 2
"""Falls after 212 frames."""


def until_the_end(env: QWOPEnv, actions: Any) -> list[Any]:
    """The steps of a game with these actions, up to its end."""
    steps = []
    for action in actions:
        steps.append(env.step(action))
        if steps[-1][2] or steps[-1][3]:
            break
    return steps


def test_passes_gymnasiums_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    # It opens a window. A real one may load Mesa's LLVM, beside which Triton, of PyTorch's CUDA build, crashes later.
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make("QWOP-v1", render_mode="rgb_array", observation_lag=1, max_idle_frames=5).unwrapped
    with warnings.catch_warnings():
        warnings.filterwarnings("error")
        warnings.filterwarnings("ignore", message=".*Box observation space m.*infinity.*")
        check_env(env)


@given(
    actions=ACTIONS, frames=st.integers(1, 5), lag=st.integers(0, 1), reward=st.sampled_from(["speed", "shaped"]),
    kind=st.sampled_from(["features", "full", "contact"]),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_decisions_are_the_replayed_game_and_its_rewards(
    actions: Any, frames: int, lag: int, reward: str, kind: str
) -> None:
    env = QWOPEnv(frames_per_step=frames, reward=reward, observation_lag=lag, observation=kind)
    first, _ = env.reset()
    steps = until_the_end(env, actions)
    played = [info["frames"] for *_, info in steps]
    game = replay(np.repeat(ACTION_KEYS[actions[: len(steps)]], played))
    at = np.concatenate([[0], np.cumsum(played)])
    states = game.states[at]
    assert len(game.states) == at[-1] + 1
    assert game.hidden is not None
    seen = observe_as(kind, game.states, game.events, game.hidden)
    np.testing.assert_array_equal([step[0] for step in steps], seen[at[1:] - lag])
    np.testing.assert_array_equal(first, observe_start(kind) if lag else seen[0])
    x, y = states[:, 0, :2].T
    np.testing.assert_array_equal([step[1] for step in steps], rewards_along(reward, x, y, bent_knee(states)))


@given(
    before=ACTIONS, after=ACTIONS, lag=st.integers(0, 1), delay=st.sampled_from([0.0, 0.5]), seed=st.integers(0, 2**31)
)
@settings(max_examples=20, deadline=None)
def test_a_saved_game_goes_on_to_the_same_bits(before: Any, after: Any, lag: int, delay: float, seed: int) -> None:
    env, other = (QWOPEnv(observation_lag=lag, max_idle_frames=20, delay=delay) for _ in range(2))
    env.reset(seed=seed)
    if any(until_the_end(env, before)[-1][2:4]):
        env.reset()
    saved = env.get_state()
    expected = until_the_end(env, after)
    other.reset(seed=seed + 1)
    other.set_state(saved)
    for one, two in zip(until_the_end(other, after), expected, strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        assert one[1:] == two[1:]
    np.testing.assert_array_equal(other.reset()[0], env.reset()[0])


def test_time_counts_from_the_first_key() -> None:
    env, late = QWOPEnv(frames_per_step=3), QWOPEnv(frames_per_step=3, delay=1.0)
    env.reset()
    assert env.step(10)[4]["time"] == 0.0
    info = env.step(3)[4]
    assert info["time"] == 3 / 30
    assert info["clock"] == pytest.approx(7 / 30)
    assert env.step(10)[4]["time"] == 6 / 30
    late.reset(seed=0)
    assert late.step(3)[4]["time"] == 2 / 30


def test_idle_frames_are_uniform_seeded_and_count_on_the_clock_alone() -> None:
    env = QWOPEnv(max_idle_frames=4)
    env.reset(seed=3)
    idle = [env.reset()[1]["frames"] for _ in range(300)]
    assert set(idle) == {0, 1, 2, 3, 4}
    assert max(idle.count(k) for k in range(5)) < 100
    env.reset(seed=3)
    assert [env.reset()[1]["frames"] for _ in range(300)] == idle
    info = env.reset()[1]
    assert info["time"] == 0.0
    assert info["clock"] == pytest.approx((1 + info["frames"]) / 30)
    step = env.step(3)[4]
    assert (step["time"], step["idle_frames"]) == (3 / 30, info["frames"])


def test_a_reset_can_choose_its_idle_frames_and_draws_on_as_if_it_had_not() -> None:
    chosen, drawn = QWOPEnv(max_idle_frames=9, delay=0.5), QWOPEnv(max_idle_frames=9, delay=0.5)
    assert chosen.reset(seed=3, options={"idle_frames": 20})[1]["idle_frames"] == 20
    drawn.reset(seed=3)
    assert [chosen.step(1)[4]["late"] for _ in range(20)] == [drawn.step(1)[4]["late"] for _ in range(20)]
    assert [chosen.reset()[1]["frames"] for _ in range(20)] == [drawn.reset()[1]["frames"] for _ in range(20)]
    assert chosen.reset(options={"idle_frames": 0})[1]["frames"] == 0
    for wrong in (-1, 3001, 2.0, "5", True, [3]):
        with pytest.raises(ValueError, match="idle_frames"):
            chosen.reset(options={"idle_frames": wrong})


@given(actions=ACTIONS, frames_per_step=st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_a_delay_that_is_certain_shifts_the_keys_by_a_frame(actions: Any, frames_per_step: int) -> None:
    env = QWOPEnv(frames_per_step=frames_per_step, delay=1.0)
    for seed in (0, None):  # the second game begins without the keys of the first
        env.reset(seed=seed)
        steps = until_the_end(env, actions)
        assert all(info["late"] for *_, info in steps)
        keys = np.repeat(ACTION_KEYS[actions[: len(steps)]], frames_per_step)
        played = sum(info["frames"] for *_, info in steps)
        game = replay(np.concatenate([[0], keys])[:played])
        np.testing.assert_array_equal(env.state, game.states[-1])


def test_delays_are_drawn_from_the_seed_as_often_as_asked_and_leave_the_idle_frames_alone() -> None:
    env, punctual = QWOPEnv(delay=0.3, max_idle_frames=20), QWOPEnv(max_idle_frames=20)

    def draws(seed: int) -> tuple[list[bool], list[int]]:
        env.reset(seed=seed)
        late, idle = [], []
        for _ in range(20):
            late += [env.step(10)[4]["late"] for _ in range(50)]
            idle.append(env.reset()[1]["frames"])
        return late, idle

    late, idle = draws(4)
    assert 250 < sum(late) < 350
    assert draws(4) == (late, idle)
    assert draws(5)[0] != late
    punctual.reset(seed=4)
    assert [punctual.reset()[1]["frames"] for _ in range(20)] == idle
    assert not punctual.step(3)[4]["late"]


@pytest.mark.parametrize(
    ("settings", "action", "end", "frames"),
    [
        ({"frames_per_step": 3, "time_limit": 0.5}, 10, (False, True, "stopped"), [3] * 5),
        ({"frames_per_step": 50}, HOLD_QP, (True, False, "fell"), [50] * 4 + [12]),  # cut short
    ],
)
def test_the_time_limit_truncates_and_a_fall_terminates(
    settings: dict[str, Any], action: int, end: tuple[bool, bool, str], frames: list[int]
) -> None:
    env = QWOPEnv(**settings)
    env.reset()
    steps = until_the_end(env, [action] * 100)
    ends = [(terminated, truncated, info["outcome"]) for _, _, terminated, truncated, info in steps]
    assert ends == [(False, False, "running")] * (len(frames) - 1) + [end]
    assert [step[4]["frames"] for step in steps] == frames
    assert steps[-1][4]["clock"] == pytest.approx((1 + sum(frames)) / 30)


WRONG_ACTIONS: list[Any] = [
    -1, 16, 2**40, 1.0, 1.5, float("nan"), float("inf"), True, np.True_, "1", "q", b"1", None, [1], (1,), {}, {1},
    object, np.array([1]), np.array([[1]]), np.array(1.0), np.float32(1), np.array("1"), np.array(None), np.array([]),
    np.array(np.nan), np.int64(-1), np.uint64(2**63), 1j,
]  # fmt: skip


def test_what_no_game_takes_is_refused_and_changes_nothing() -> None:
    env = QWOPEnv(max_idle_frames=5, delay=0.3, render_mode="rgb_array")
    env.reset(seed=0)
    env.render()
    other = QWOPEnv(max_idle_frames=5, delay=0.3)
    other.reset(seed=0)
    for action in WRONG_ACTIONS:
        with pytest.raises(InvalidAction, match=r"action .*, expected a whole number, 0 \.\.\. 10"):
            env.step(11 if action is WRONG_ACTIONS[1] else action)
        with pytest.raises(InvalidAction, match=r"keys .*, expected a whole number, 0 \.\.\. 15"):
            env.advance(action)
    for seed in (-1, 1.5, "1", [1], float("nan"), (1, 2), True, False):
        with pytest.raises((gymnasium.error.Error, ValueError)):
            env.reset(seed=seed)  # type: ignore[arg-type]
    for options in ("all", 3, [True]):
        with pytest.raises(ValueError, match="options"):
            env.reset(options=options)  # type: ignore[arg-type]
    np.testing.assert_array_equal(env.step(3)[0], other.step(3)[0])
    np.testing.assert_array_equal(env.advance(np.int64(11))[0], other.advance(11)[0])  # type: ignore[arg-type]


def test_a_game_that_has_not_begun_has_ended_or_is_closed_says_so() -> None:
    env, page = QWOPEnv(render_mode="rgb_array"), Session()
    plays = (lambda: env.step(0), lambda: env.advance(1))
    for play in (*plays, env.render):
        with pytest.raises(ResetNeeded, match="no game has begun"):
            play()
    env.reset()
    until_the_end(env, [7] * 100)
    for play in plays:
        with pytest.raises(ResetNeeded, match="the game has ended"):
            play()
    env.reset()
    env.step(0)
    state = env.get_state()
    page.begin()
    env.close()
    env.close()
    again = (lambda: env.set_state(state), lambda: env.continue_from(page.get_state(), np.zeros(1, np.uint8)))
    for use in (*plays, *again, env.reset, env.render):
        with pytest.raises(ClosedEnvironmentError, match="make a new one"):
            use()


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_memory_is_flat_over_ten_thousand_resets() -> None:
    env, batch = QWOPEnv(max_idle_frames=3), QWOPVectorEnv(16, max_idle_frames=3, delay=0.1, num_threads=2)

    def reset(times: int) -> None:
        for _ in range(times):
            env.reset()
            env.step(3)
            batch.reset()

    sizes = []
    for _ in range(5):
        reset(2000)
        gc.collect()
        sizes.append(resident_bytes())
    # A leak grows each time, what else the process does now and then.
    assert min(after - before for before, after in pairwise(sizes)) < 800 * 2**10
    batch.close()


def play_in_fork(batch: QWOPVectorEnv, results: Any) -> None:
    results.put([batch.step(np.full(16, action))[0] for action in (3, 6, 10)])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_steps_a_batch_whose_threads_stayed_behind() -> None:
    batch = QWOPVectorEnv(16, num_threads=2)
    batch.reset(seed=0)
    batch.step(np.zeros(16, int))  # the threads are running
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=play_in_fork, args=(batch, results))
    child.start()
    its = results.get(timeout=60)
    child.join()
    mine = [batch.step(np.full(16, action))[0] for action in (3, 6, 10)]
    np.testing.assert_array_equal(mine, its)
    batch.close()


def test_games_that_rest_stay_as_they_are_until_a_reset_and_the_others_play_on() -> None:
    games, alone = (QWOPVectorEnv(9, max_idle_frames=5) for _ in range(2))
    for one in (games, alone):
        one.reset(seed=3)
    resting = np.arange(9) % 4 == 1
    games.rest(resting)
    before = games.states
    for action in range(8):
        actions = np.full(9, action)
        games.step(actions), alone.step(actions)
    assert np.array_equal(games.states[resting], before[resting])
    assert np.array_equal(games.states[~resting], alone.states[~resting])
    games.reset(seed=4)
    games.step(actions)
    assert (games.states[resting] != before[resting]).any()


def test_gymnasium_knows_the_mode_and_the_pace() -> None:
    env = gymnasium.make_vec("qwop/QWOP-v1", num_envs=2, frames_per_step=6)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    single = gymnasium.make("qwop/QWOP-v1", frames_per_step=6)
    assert single.metadata["render_fps"] == env.metadata["render_fps"] == 5


def test_keys_of_the_keyboard_stand_for_actions() -> None:
    bits = {ord("q"): KEY_Q, ord("w"): KEY_W, ord("o"): KEY_O, ord("p"): KEY_P}
    mapped = QWOPEnv().get_keys_to_action()
    assert len(mapped) == len(ACTION_KEYS) - 1
    for pressed, action in mapped.items():
        assert sum(bits[key] for key in pressed) == ACTION_KEYS[action]


@pytest.mark.filterwarnings("ignore:.*HumanRendering wrapper")
def test_gymnasiums_window_follows_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame", reason="pygame is not installed (the extra 'window')")
    env = gymnasium.make("qwop/QWOP-v1", render_mode="human", frames_per_step=1)
    env.reset(seed=0)
    assert env.render() is None
    first = pygame.surfarray.array3d(pygame.display.get_surface())
    for _ in range(5):
        env.step(3)
    assert (pygame.surfarray.array3d(pygame.display.get_surface()) != first).any()
    env.close()
    assert not pygame.display.get_init()
