"""The compiled batch: many games of QWOP-v1."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.envs import EnvironmentSpec
from qwop.envs.names import OUTCOMES
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.envs.vector import make_vector, played_values

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
