"""Every way into the game is the same game: bits do not depend on how it is played, where, or by how many threads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qwop.envs import Replay, replay
from qwop.envs.engine import bodies, layout
from qwop.envs.names import ACTION_KEYS
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.observations import observe
from qwop.envs.qwop.vector import QWOPVectorEnv

GAMES = np.load(Path(__file__).with_name("recorded_games.npz"))

FOUR_WAYS = {
    "from the start": ("run_01_dqn_a", 0),
    "in full run": ("run_10_dqn_a", 700),
    "before the hurdle": ("run_13_dqn_a", 920),
    "in the hurdle": ("run_06_dqn_b", 796),
}
"""Recorded games, and the frames of them that are played before the random keys."""

HELD = st.lists(st.tuples(st.integers(0, 10), st.integers(1, 25)), min_size=1, max_size=12)


def actions_of(start: str, held: list[tuple[int, int]]) -> NDArray[np.int64]:
    """Actions of a frame each: the recorded game's, then these, each held for so many frames."""
    name, frames = FOUR_WAYS[start]
    recorded = [int(np.flatnonzero(keys == ACTION_KEYS)[0]) for keys in GAMES[f"{name}/keys"][:frames]]
    return np.array(recorded + [action for action, frames in held for _ in range(frames)], dtype=np.int64)


def assert_four_ways_agree(actions: NDArray[np.int64], cut: int) -> Replay:
    """`replay`, the environment by decisions and by keys, a row of the batch, and the environment resumed at `cut`."""
    game = replay(ACTION_KEYS[actions])
    alone, by_keys, resumed = (QWOPEnv(frames_per_step=1) for _ in range(3))
    beside = QWOPVectorEnv(2, autoreset_mode="SameStep", frames_per_step=1)
    alone.reset()
    by_keys.reset()
    beside.reset()
    last = len(game.states) - 1
    playing = [alone, by_keys]
    for frame in range(last):
        if frame == cut:
            resumed.reset()
            resumed.set_state(alone.get_state())
            playing.append(resumed)
        seen = observe(game.states[frame + 1])
        for env in playing:
            step = env.advance(int(ACTION_KEYS[actions[frame]])) if env is by_keys else env.step(actions[frame])
            observation, _, terminated, _, _ = step
            np.testing.assert_array_equal(env.state, game.states[frame + 1])
            np.testing.assert_array_equal(env.events, game.events[frame + 1])
            np.testing.assert_array_equal(observation, seen)
        observations, _, terminations, _, infos = beside.step(actions[[frame, -1 - frame]])
        np.testing.assert_array_equal(infos["final_obs"][0] if terminated else observations[0], seen)
        assert terminations[0] == terminated
        if not terminated:
            np.testing.assert_array_equal(beside.states[0], game.states[frame + 1])
    assert terminated == (game.events[-1, 4] == 1.0)
    return game


@given(start=st.sampled_from(sorted(FOUR_WAYS)), held=HELD, after=st.integers(0, 60))
@settings(max_examples=8, deadline=None)
def test_four_ways_to_play_random_keys_agree(start: str, held: list[tuple[int, int]], after: int) -> None:
    assert_four_ways_agree(actions_of(start, held), FOUR_WAYS[start][1] + after)


@pytest.mark.parametrize("seed", range(3))
def test_four_ways_agree_in_the_hurdle_and_to_the_fall(seed: int) -> None:
    drawn = np.random.default_rng(seed).integers(0, 11, 60)
    actions = actions_of("before the hurdle", [(int(action), 10) for action in drawn])
    game = assert_four_ways_agree(actions, cut=950)
    assert game.events[-1, 4] == 1.0
    hurdle = game.states[-1, layout.HURDLE_TOP]
    assert (hurdle[:3] != bodies.START[layout.HURDLE_TOP]).any()


PROGRAM = """
import hashlib, sys
import numpy as np
from qwop.envs.qwop.vector import QWOPVectorEnv

def digest(threads):
    env = QWOPVectorEnv(21, autoreset_mode="SameStep", max_idle_frames=9, num_threads=threads)
    found = hashlib.sha256(env.reset(seed=3)[0].tobytes())
    actions = np.repeat(np.random.default_rng(3).integers(0, 11, (25, 21)), 4, axis=0)
    for chosen in actions:
        observations, rewards, terminated, truncated, _ = env.step(chosen)
        for part in (observations, rewards, terminated, truncated, env.states):
            found.update(part.tobytes())
    env.close()
    return found.hexdigest()
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_another_process_with_other_threads_computes_the_same_bits(threads: int) -> None:
    here: dict[str, object] = {}
    exec(PROGRAM, here)
    program = PROGRAM + f"\nprint(digest({threads}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    digest = here["digest"]
    assert callable(digest)
    assert done.stdout.strip() == digest(2)
