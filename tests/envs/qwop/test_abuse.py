"""Environments used wrongly: a clear error of Gymnasium's kind, and never a crash."""

import copy
import gc
import multiprocessing
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode
from qwop.common.errors import BadInput
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.session import Session
from qwop.envs.qwop.vector import QWOPVectorEnv
from qwop.envs.race.vector import QWOPRaceVectorEnv
from qwop.envs.spec import EnvironmentSpec
from qwop.envs.vector import make_vector

WRONG_ACTIONS = [
    -1, 11, 2**40, 1.0, 1.5, float("nan"), float("inf"), True, np.True_, "1", "q", b"1", None, [1], (1,), {}, {1},
    object, np.array([1]), np.array([[1]]), np.array(1.0), np.float32(1), np.array("1"), np.array(None), np.array([]),
    np.array(np.nan), np.int64(-1), np.uint64(2**63), 1j,
]  # fmt: skip

WRONG_BATCHES: list[Any] = [
    0, None, "0000", [0, 0, 0], [0, 0, 0, 0, 0], [[0, 0, 0, 0]], [0, 0, 0, 11], [0, 0, 0, -1], [0, 0, 0, None],
    [0, 0, [0], 0], [0.0] * 4, [float("nan")] * 4, [True] * 4, ["0"] * 4, np.zeros((4, 1), int), np.zeros(0, int),
    np.zeros(4), np.full(4, np.nan), np.full(4, 2**63, np.uint64), np.zeros(4, bool), np.zeros(4, "datetime64[s]"), {},
]  # fmt: skip

WRONG_SEEDS: list[Any] = [-1, 1.5, "1", [1], float("nan"), (1, 2), True, False]


def names(values: list[Any]) -> list[str]:
    return [f"{number}-{type(value).__name__}" for number, value in enumerate(values)]


@pytest.fixture
def env() -> QWOPEnv:
    made = QWOPEnv(max_idle_frames=5, delay=0.3)
    made.reset(seed=0)
    return made


@pytest.fixture
def batch() -> QWOPVectorEnv:
    made = QWOPVectorEnv(4, max_idle_frames=5, delay=0.3, num_threads=1)
    made.reset(seed=0)
    return made


@pytest.mark.parametrize("action", WRONG_ACTIONS, ids=names(WRONG_ACTIONS))
def test_an_action_that_is_none_is_refused_and_changes_nothing(env: QWOPEnv, action: Any) -> None:
    other = copy.deepcopy(env)
    with pytest.raises(InvalidAction, match="expected a whole number"):
        env.step(action)
    np.testing.assert_array_equal(env.step(3)[0], other.step(3)[0])


@pytest.mark.parametrize("keys", WRONG_ACTIONS, ids=names(WRONG_ACTIONS))
def test_keys_that_are_none_are_refused_and_change_nothing(env: QWOPEnv, keys: Any) -> None:
    keys = 16 if type(keys) is int and keys == 11 else keys  # eleven is W, Q and P
    other = copy.deepcopy(env)
    with pytest.raises(InvalidAction, match=r"keys .*, expected a whole number, 0 \.\.\. 15"):
        env.advance(keys)
    np.testing.assert_array_equal(env.advance(np.int64(11))[0], other.advance(11)[0])


@pytest.mark.parametrize("actions", WRONG_BATCHES, ids=names(WRONG_BATCHES))
def test_actions_that_are_none_are_refused_and_change_nothing(batch: QWOPVectorEnv, actions: Any) -> None:
    other = copy.deepcopy(batch)
    with pytest.raises(InvalidAction, match="whole numbers"):
        batch.step(actions)
    chosen = np.array([0, 3, 6, 10])
    np.testing.assert_array_equal(batch.step(chosen)[0], other.step(chosen)[0])


def test_a_step_needs_a_reset_before_the_first_game_and_after_each() -> None:
    env = QWOPEnv()
    for play in (lambda: env.step(0), lambda: env.advance(1)):
        with pytest.raises(ResetNeeded, match="no game has begun"):
            play()
    env.reset()
    while not env.step(7)[2]:
        pass
    for play in (lambda: env.step(0), lambda: env.advance(1)):
        with pytest.raises(ResetNeeded, match="the game has ended"):
            play()
    env.reset()
    env.step(0)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_batch_needs_a_reset_of_every_row(mode: AutoresetMode) -> None:
    env = QWOPVectorEnv(3, autoreset_mode=mode)
    with pytest.raises(ResetNeeded, match=r"\[0, 1, 2\]"):
        env.step(np.zeros(3, int))
    env.reset(options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(ResetNeeded, match=r"\[1\]"):
        env.step(np.zeros(3, int))
    env.reset(options={"reset_mask": np.array([False, True, False])})
    env.step(np.zeros(3, int))


def test_a_closed_game_says_so(env: QWOPEnv, batch: QWOPVectorEnv) -> None:
    race: Any = gymnasium.make_vec("QWOPRace-v1", 2)
    race.reset()
    state, page = env.get_state(), Session()
    page.reset()
    for made in (env, batch, race):
        made.close()
        made.close()
        for use in (made.reset, lambda made=made: made.step(np.zeros(made.num_envs, int)), made.render):
            if made is not env:
                with pytest.raises(ClosedEnvironmentError):
                    use()
    for use in (
        env.reset,
        lambda: env.step(0),
        lambda: env.advance(1),
        env.render,
        lambda: env.set_state(state),
        lambda: env.continue_from(page.get_state(), np.zeros(1, np.uint8)),
    ):
        with pytest.raises(ClosedEnvironmentError, match="make a new one"):
            use()


@pytest.mark.parametrize("made", ["QWOP-v1", "QWOPRace-v1"])
def test_a_reset_of_no_game_before_the_first_has_nothing_to_show(made: str) -> None:
    env: Any = gymnasium.make_vec(made, 2)
    with pytest.raises(ResetNeeded, match="no game has begun"):
        env.reset(options={"reset_mask": np.zeros(2, np.bool_)})
    first, _ = env.reset(seed=0)
    assert (env.reset(options={"reset_mask": np.zeros(2, np.bool_)})[0] == first).all()


@pytest.mark.parametrize("count", [0, -1, True, 2.0, 1.5, "2", None, np.True_, [2]], ids=str)
def test_a_number_of_games_that_is_none_is_refused(count: Any) -> None:
    for make in (QWOPVectorEnv, QWOPRaceVectorEnv, lambda count: make_vector(EnvironmentSpec("CartPole-v1"), count)):
        with pytest.raises(BadInput, match=r"num_envs=.*: expected a whole number, at least 1"):
            make(count)
    with pytest.raises(BadInput, match=r"num_threads=.*: expected a whole number, at least 1"):
        QWOPVectorEnv(2, num_threads=0 if count is None else count)


@pytest.mark.parametrize("seed", WRONG_SEEDS, ids=names(WRONG_SEEDS))
def test_a_seed_that_is_none_is_refused(env: QWOPEnv, seed: Any) -> None:
    with pytest.raises((gymnasium.error.Error, ValueError)):
        env.reset(seed=seed)
    env.step(0)


@pytest.mark.parametrize("settings", [{}, {"max_idle_frames": 5}])
@pytest.mark.parametrize(
    "seed",
    [
        *WRONG_SEEDS,
        [1, 2, 3, -1],
        [1, 2, 3, "4"],
        [1, 2, 3, 4.5],
        "1234",
        [1, 2, 3, True],
        [False, None, None, None],
        np.array([True] * 4),
        np.True_,
    ],
)
def test_seeds_of_a_batch_that_are_none_are_refused(seed: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="seed"):
        QWOPVectorEnv(4, **settings).reset(seed=seed)


@pytest.mark.parametrize("options", ["all", 3, [True], {"reset_mask": [1, 0, 1, 0]}, {"reset_mask": [True]},
                                     {"reset_mask": "abcd"}, {"reset_mask": np.ones((4, 1), bool)}])  # fmt: skip
def test_options_that_are_none_are_refused(env: QWOPEnv, batch: QWOPVectorEnv, options: Any) -> None:
    with pytest.raises(ValueError, match=r"options|reset_mask"):
        batch.reset(options=options)
    if not isinstance(options, dict):
        with pytest.raises(ValueError, match="options"):
            env.reset(options=options)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_million_random_steps_have_no_number_that_is_none() -> None:
    random = np.random.default_rng(0)
    env = QWOPVectorEnv(64, max_idle_frames=60, observation="full", reward="race", shaping=0.5, delay=0.2)
    env.reset(seed=0)
    held = random.integers(0, 11, 64)
    for _ in range(-(-1_000_000 // 64)):
        # Keys held for a while bring the runner farther than new ones at every decision.
        held = np.where(random.random(64) < 0.3, random.integers(0, 11, 64), held)
        observations, rewards, _, _, infos = env.step(held)
        assert np.isfinite(observations).all()
        assert np.isfinite(rewards).all()
        assert all(np.isfinite(infos[name]).all() for name in ("distance", "score", "clock", "time"))


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


def test_two_threads_step_two_environments_as_one_thread_does() -> None:
    actions = np.random.default_rng(0).integers(0, 11, 300)

    def play(seed: int) -> list[Any]:
        env = QWOPEnv(max_idle_frames=9)
        env.reset(seed=seed)
        seen = []
        for action in actions:
            observation, *_, info = env.step(action)
            seen.append(observation)
            if info["outcome"] != "running":
                env.reset()
        return seen

    found: dict[int, list[Any]] = {}
    threads = [threading.Thread(target=lambda seed=seed: found.update({seed: play(seed)})) for seed in (1, 2)]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in (1, 2):
        np.testing.assert_array_equal(found[seed], play(seed))
