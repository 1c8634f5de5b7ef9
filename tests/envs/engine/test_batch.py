"""Games in lanes: beside whatever a game is played, it is the game played alone."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qwop.envs import replay
from qwop.envs.engine import layout, native
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.vector import QWOPVectorEnv

WIDTH = native.engine().width
GAMES = np.load(Path(__file__).parents[1] / "recorded_games.npz")

MOMENTS = {
    "the beginning": ("run_01_dqn_a", 0),
    "the first steps": ("run_01_dqn_a", 40),
    "in full run": ("run_10_dqn_a", 700),
    "before the hurdle": ("run_13_dqn_a", 932),
    "in the hurdle": ("run_06_dqn_b", 796),
    "past the hurdle, which still rolls": ("run_11_acer", 1100),
    "asleep": ("alternate_01", 981),
    "standing": ("alternate_01", 970),
    "a frame before the fall": ("hold_09", 211),
    "fallen": ("hold_09", 212),
    "at the end of the track": ("run_01_dqn_a", 1840),
    "under the block": ("hold_05", 290),
}


@cache
def moment(name: str) -> dict[str, Any]:
    """The saved state of a recorded game after some frames."""
    game, frames = MOMENTS[name]
    env = QWOPEnv(frames_per_step=2)
    env.reset()
    for keys in GAMES[f"{game}/keys"][:frames]:
        env.advance(int(keys))
    return env.get_state()


def alone(name: str, actions: NDArray[np.int64]) -> list[Any]:
    """The rows and the observation after each decision, up to the end."""
    env = QWOPEnv(frames_per_step=2)
    env.reset()
    env.set_state(moment(name))
    seen = []
    for action in actions:
        observation, reward, terminated, *_ = env.step(action)
        saved = env.get_state()
        seen.append((saved["reals"], saved["integers"], observation, reward))
        if terminated:
            break
    return seen


@pytest.mark.parametrize("count", [1, 2, 3, WIDTH, WIDTH + 3])
@given(seed=st.integers(0, 2**31), names=st.data())
@settings(max_examples=12, deadline=None)
def test_games_at_different_moments_are_each_the_game_alone(count: int, seed: int, names: Any) -> None:
    chosen = names.draw(st.lists(st.sampled_from(sorted(MOMENTS.keys() - {"fallen"})), min_size=count, max_size=count))
    actions = np.repeat(np.random.default_rng(seed).integers(0, 11, (8, count)), 3, axis=0)
    env = QWOPVectorEnv(count, frames_per_step=2, num_threads=2)
    env.reset(seed=0)
    for game, name in enumerate(chosen):
        env._games.restore_row(game, moment(name))
    expected = [alone(name, column) for name, column in zip(chosen, actions.T, strict=True)]
    for decision, row in enumerate(actions):
        observations, rewards, terminated, _, infos = env.step(row)
        saved = env._games.arrays()
        for game, seen in enumerate(expected):
            if decision >= len(seen):
                continue  # a new game by now
            reals, integers, observation, reward = seen[decision]
            np.testing.assert_array_equal((infos["final_obs"] if terminated[game] else observations)[game], observation)
            assert rewards[game] == reward
            assert terminated[game] == (reals[layout.ENDED] != 0.0)
            if not terminated[game]:
                np.testing.assert_array_equal(observations[game], observation)
                np.testing.assert_array_equal(saved["reals"][game], reals)
                np.testing.assert_array_equal(saved["integers"][game], integers)


NAMES = sorted({name.split("/")[0] for name in GAMES.files if "/" in name})
STATES = "1dcdef7730afdf362c7160445bc44308dd08a8a71e14407044307d5adb4b7a1d"
"""SHA-256 of the states, little-endian float64 [frames, 14, 6], of every game after either reset, in order."""


def test_every_state_of_the_recorded_games_is_the_same_everywhere() -> None:
    found = hashlib.sha256()
    for name in NAMES:
        for reset in "ab":
            found.update(replay(GAMES[f"{name}/keys"], reset=reset).states.astype("<f8").tobytes())
    assert found.hexdigest() == STATES
