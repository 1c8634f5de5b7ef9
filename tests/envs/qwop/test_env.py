"""QWOP-v1: one game, step by step, and the compiled batch of many."""

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs import EnvironmentSpec, replay
from qwop.envs.names import ACTION_KEYS, OUTCOMES
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.observations import bent_knee, observe
from qwop.envs.qwop.rewards import rewards_along
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.envs.vector import make_vector, played_values

KEYS = st.lists(st.tuples(st.integers(0, 15), st.integers(1, 25)), min_size=1, max_size=12).map(
    lambda held: np.repeat([keys for keys, _ in held], [frames for _, frames in held]).astype(np.uint8)
)
"""Keys of each frame: combinations, each held for a while."""

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


@pytest.mark.parametrize("lag", [0, 1])
def test_passes_gymnasiums_checker(lag: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # It opens a window. A real one may load Mesa's LLVM, beside which Triton, of PyTorch's CUDA build, crashes later.
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make("QWOP-v1", render_mode="rgb_array", observation_lag=lag, max_idle_frames=5).unwrapped
    with warnings.catch_warnings():
        warnings.filterwarnings("error")
        warnings.filterwarnings("ignore", message=".*Box observation space m.*infinity.*")
        check_env(env)


@given(keys=KEYS)
@settings(max_examples=25, deadline=None)
def test_raw_keys_frame_by_frame_are_the_replayed_game(keys: Any) -> None:
    game = replay(keys)
    env = QWOPEnv()
    observation, _ = env.reset()
    np.testing.assert_array_equal(observation, observe(game.states[0]))
    for frame in range(1, len(game.states)):
        observation, _, terminated, _, info = env.advance(int(keys[frame - 1]))
        np.testing.assert_array_equal(env.state, game.states[frame])
        np.testing.assert_array_equal(env.events, game.events[frame])
        np.testing.assert_array_equal(observation, observe(game.states[frame]))
        assert terminated == bool(game.events[frame, 4])
        assert info["clock"] == game.events[frame, 5]


@given(actions=ACTIONS, frames_per_step=st.integers(1, 5), reward=st.sampled_from(["speed", "shaped"]))
@settings(max_examples=25, deadline=None)
def test_decisions_are_the_replayed_game_and_its_rewards(actions: Any, frames_per_step: int, reward: str) -> None:
    env = QWOPEnv(frames_per_step=frames_per_step, reward=reward)
    env.reset()
    steps = until_the_end(env, actions)
    played = [info["frames"] for *_, info in steps]
    game = replay(np.repeat(ACTION_KEYS[actions[: len(steps)]], played))
    at = np.concatenate([[0], np.cumsum(played)])
    states = game.states[at]
    assert len(game.states) == at[-1] + 1
    np.testing.assert_array_equal([step[0] for step in steps], observe(states[1:]))
    rewards = [step[1] for step in steps]
    np.testing.assert_array_equal(rewards, rewards_along(reward, states[:, 0, 0], states[:, 0, 1], bent_knee(states)))
    if reward == "speed":
        np.testing.assert_array_equal(rewards, 2 * np.maximum(np.diff(states[:, 0, 0]), 0))


@given(actions=ACTIONS, frames_per_step=st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_a_lagging_observation_is_the_one_of_the_frame_before(actions: Any, frames_per_step: int) -> None:
    env = QWOPEnv(frames_per_step=frames_per_step, observation_lag=1)
    env.reset()
    steps = until_the_end(env, actions)
    played = [info["frames"] for *_, info in steps]
    game = replay(np.repeat(ACTION_KEYS[actions[: len(steps)]], played))
    np.testing.assert_array_equal([step[0] for step in steps], observe(game.states[np.cumsum(played) - 1]))


@given(
    before=ACTIONS, after=ACTIONS, lag=st.integers(0, 1), delay=st.sampled_from([0.0, 0.5]), seed=st.integers(0, 2**31)
)
@settings(max_examples=20, deadline=None)
def test_a_saved_game_goes_on_to_the_same_bits(before: Any, after: Any, lag: int, delay: float, seed: int) -> None:
    env = QWOPEnv(observation_lag=lag, max_idle_frames=20, delay=delay)
    env.reset(seed=seed)
    if any(until_the_end(env, before)[-1][2:4]):
        env.reset()
    saved = env.get_state()
    expected = until_the_end(env, after)
    expected_next, _ = env.reset()
    other = QWOPEnv(observation_lag=lag, max_idle_frames=20, delay=delay)
    other.reset(seed=seed + 1)
    other.set_state(saved)
    got = until_the_end(other, after)
    for one, two in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        assert one[1:] == two[1:]
    np.testing.assert_array_equal(other.reset()[0], expected_next)


def test_time_counts_from_the_first_key() -> None:
    env = QWOPEnv(frames_per_step=3)
    env.reset()
    assert env.step(10)[4]["time"] == 0.0
    info = env.step(3)[4]
    assert info["time"] == 3 / 30
    assert info["clock"] == pytest.approx(7 / 30)
    assert env.step(10)[4]["time"] == 6 / 30


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
    assert env.step(3)[4]["time"] == 3 / 30
    assert env.step(3)[4]["idle_frames"] == info["frames"]


def test_a_reset_can_choose_its_idle_frames_and_draws_on_as_if_it_had_not() -> None:
    chosen, drawn = QWOPEnv(max_idle_frames=9, delay=0.5), QWOPEnv(max_idle_frames=9, delay=0.5)
    assert chosen.reset(seed=3, options={"idle_frames": 20})[1]["idle_frames"] == 20
    drawn.reset(seed=3)
    assert [chosen.step(1)[4]["late"] for _ in range(20)] == [drawn.step(1)[4]["late"] for _ in range(20)]
    assert [chosen.reset()[1]["frames"] for _ in range(20)] == [drawn.reset()[1]["frames"] for _ in range(20)]
    assert chosen.reset(options={"idle_frames": 0})[1]["frames"] == 0


@pytest.mark.parametrize("wrong", [-1, 3001, 2.0, "5", True, [3]])
def test_idle_frames_that_are_no_number_of_frames_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="idle_frames"):
        QWOPEnv().reset(options={"idle_frames": wrong})


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
        np.testing.assert_array_equal(env.events, game.events[-1])


def test_delays_are_drawn_from_the_seed_as_often_as_asked_and_leave_the_idle_frames_alone() -> None:
    env, punctual = QWOPEnv(delay=0.3, max_idle_frames=20), QWOPEnv(max_idle_frames=20)

    def drawn(seed: int) -> tuple[list[bool], list[int]]:
        env.reset(seed=seed)
        late, idle = [], []
        for _ in range(20):
            late += [env.step(10)[4]["late"] for _ in range(50)]
            idle.append(env.reset()[1]["frames"])
        return late, idle

    late, idle = drawn(4)
    assert 250 < sum(late) < 350
    assert drawn(4) == (late, idle)
    assert drawn(5)[0] != late
    punctual.reset(seed=4)
    assert [punctual.reset()[1]["frames"] for _ in range(20)] == idle
    assert not punctual.step(3)[4]["late"]


def test_a_late_first_key_is_where_time_begins() -> None:
    env = QWOPEnv(frames_per_step=3, delay=1.0)
    env.reset(seed=0)
    assert env.step(3)[4]["time"] == 2 / 30


def test_the_time_limit_truncates() -> None:
    env = QWOPEnv(frames_per_step=3, time_limit=0.5)
    env.reset()
    steps = until_the_end(env, [10] * 100)
    *_, terminated, truncated, info = steps[-1]
    assert (terminated, truncated, info["outcome"]) == (False, True, "stopped")
    assert info["clock"] == pytest.approx(16 / 30)  # the first decision at or after 15 frames
    assert all(step[4]["outcome"] == "running" for step in steps[:-1])
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(10)


def test_a_fall_terminates_and_the_last_decision_is_cut_short() -> None:
    env = QWOPEnv(frames_per_step=50)
    env.reset()
    steps = until_the_end(env, [HOLD_QP] * 9)
    *_, terminated, truncated, info = steps[-1]
    assert (terminated, truncated, info["outcome"]) == (True, False, "fell")
    assert [step[4]["frames"] for step in steps] == [50, 50, 50, 50, 12]
    assert info["clock"] == pytest.approx(213 / 30)


@pytest.mark.parametrize(
    "wrong",
    [
        {"frames_per_step": 0}, {"frames_per_step": 1.5}, {"reward": "fast"}, {"observation_lag": 2},
        {"max_idle_frames": -1}, {"time_limit": 0.0}, {"time_limit": float("nan")}, {"delay": -0.1}, {"delay": 1.1},
        {"delay": "often"},
    ],
)  # fmt: skip
def test_a_wrong_setting_is_told_in_one_line(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(wrong))) as told:
        gymnasium.make("QWOP-v1", **wrong)
    assert "\n" not in str(told.value)


TASKS = st.fixed_dictionaries(
    {
        "frames_per_step": st.integers(1, 8),
        "reward": st.sampled_from(["speed", "shaped"]),
        "observation_lag": st.integers(0, 1),
        "max_idle_frames": st.sampled_from([0, 7]),
        "time_limit": st.sampled_from([1.5, 120.0]),
        "delay": st.sampled_from([0.0, 0.4]),
    }
)


INFOS = ("distance", "score", "clock", "time", "frames", "idle_frames", "late", "outcome")


def numbers(values: Any) -> Any:
    """The words of single games as the numbers of a batch."""
    return np.array([OUTCOMES.index(one) if isinstance(one, str) else one for one in values])


def play(env: Any, seed: int, steps: int, hold: int = 4) -> list[Any]:
    """Everything that an environment says in some steps of random actions, each held for a while."""
    generator = np.random.default_rng(seed)
    said = [env.reset(seed=seed)]
    for step in range(steps):
        if step % hold == 0:
            actions = generator.integers(0, 11, env.num_envs)
        said.append(env.step(actions))
    return said


def assert_same(one: Any, two: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for name in one:
            assert_same(one[name], two[name])
    elif isinstance(one, tuple | list):
        for a, b in zip(one, two, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_array_equal(one, two)


@given(task=TASKS, seed=st.integers(0, 1000), n=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_a_batch_is_as_many_single_games(task: dict[str, Any], seed: int, n: int) -> None:
    batch = play(QWOPVectorEnv(n, autoreset_mode="SameStep", **task), seed, steps=60)
    loop = play(SyncVectorEnv([lambda: QWOPEnv(**task)] * n, autoreset_mode=AutoresetMode.SAME_STEP), seed, steps=60)
    assert_same(batch[0][0], loop[0][0])
    for (*got, got_infos), (*want, want_infos) in zip(batch[1:], loop[1:], strict=True):
        assert_same(got, want)
        for name in INFOS:
            assert_same(numbers(played_values(got_infos, name)), numbers(played_values(want_infos, name)))
        assert ("final_info" in got_infos) == ("final_info" in want_infos)
        if "final_info" in want_infos:
            done = want_infos["_final_info"]
            assert_same(got_infos["_final_info"], done)
            for row in np.flatnonzero(done):
                assert_same(got_infos["final_obs"][row], want_infos["final_obs"][row])
                for name in INFOS:
                    ends = (numbers(infos["final_info"][name])[row] for infos in (got_infos, want_infos))
                    assert_same(*ends)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_change_nothing(threads: int) -> None:
    task: dict[str, Any] = {"max_idle_frames": 9, "frames_per_step": 5, "delay": 0.4}
    alone = play(QWOPVectorEnv(13, autoreset_mode="SameStep", num_threads=1, **task), 5, steps=80)
    together = QWOPVectorEnv(13, autoreset_mode="SameStep", num_threads=threads, **task)
    assert_same(play(together, 5, steps=80), alone)
    together.close()


@given(task=TASKS, seed=st.integers(0, 1000), mode=st.sampled_from(["SameStep", "NextStep"]), as_keys=st.booleans())
@settings(max_examples=25, deadline=None)
def test_saved_games_go_on_to_the_same_bits(task: dict[str, Any], seed: int, mode: str, as_keys: bool) -> None:
    first = QWOPVectorEnv(3, autoreset_mode=mode, **task)
    play(first, seed, steps=25)
    saved, seen = first.get_state(), first._games.observed()
    if as_keys:
        del saved["rows"]  # as in a file
    generator = np.random.default_rng(seed)
    actions = np.repeat(generator.integers(0, 11, (10, 3)), 4, axis=0)
    expected = [first.step(row) for row in actions]
    second = QWOPVectorEnv(3, autoreset_mode=mode, **task)
    play(second, seed + 1, steps=3)
    np.testing.assert_array_equal(second.set_state(saved), seen)
    assert_same([second.step(row) for row in actions], expected)


def test_a_game_has_the_same_delays_in_any_row_and_company() -> None:
    actions = np.random.default_rng(0).integers(0, 11, (40, 5))
    batch = QWOPVectorEnv(5, autoreset_mode="SameStep", delay=0.5)
    batch.reset(seed=[7, 8, 9, 10, 11])
    late = np.array([batch.step(row)[4]["late"] for row in actions])
    batch.reset(seed=[None, None, None, None, 7], options={"reset_mask": np.arange(5) == 4})
    np.testing.assert_array_equal([batch.step(row)[4]["late"][4] for row in actions], late[:, 0])
    assert (late[:, 0] != late[:, 1]).any()


def test_a_reset_mask_begins_some_games_and_leaves_the_others() -> None:
    env = QWOPVectorEnv(3, max_idle_frames=12)
    play(env, 0, steps=5)
    before = env.states
    mask = np.array([False, True, False])
    observations, infos = env.reset(seed=[1, 2, 3], options={"reset_mask": mask})
    np.testing.assert_array_equal(env.states[[0, 2]], before[[0, 2]])
    alone = QWOPEnv(max_idle_frames=12)
    observation, info = alone.reset(seed=2)
    np.testing.assert_array_equal(observations[1], observation)
    assert infos["frames"][1] == info["frames"]
    np.testing.assert_array_equal(infos["_frames"], mask)


def test_make_vec_and_make_vector_use_the_batch() -> None:
    made = gymnasium.make_vec("QWOP-v1", num_envs=2, frames_per_step=2)
    assert isinstance(made.unwrapped, QWOPVectorEnv)
    made.reset(seed=0)
    assert made.step(np.array([3, 3]))[4]["frames"].tolist() == [2, 2]
    vector = make_vector(EnvironmentSpec("QWOP-v1", {"reward": "shaped"}), 2, max_idle_frames=3, num_threads=1)
    assert isinstance(vector.unwrapped, QWOPVectorEnv)
    assert vector.unwrapped.task.max_idle_frames == 3


def test_what_is_returned_is_not_overwritten() -> None:
    env = QWOPVectorEnv(2)
    first, _ = env.reset(seed=0)
    kept = first.copy()
    second = env.step(np.array([3, 6]))
    kept_infos = second[4]["distance"].copy()
    env.step(np.array([3, 6]))
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second[4]["distance"], kept_infos)


def test_a_picture_of_every_game() -> None:
    env = QWOPVectorEnv(2, render_mode="rgb_array")
    env.reset(seed=0)
    env.step(np.array([3, 6]))
    pictures = env.render()
    assert pictures is not None
    assert [picture.shape for picture in pictures] == [(400, 640, 3)] * 2
    assert (pictures[0] != pictures[1]).any()
