"""Every way into the game is the same game: bits do not depend on how it is played."""

from pathlib import Path

import numpy as np
import pytest
from qwop.envs import replay
from qwop.envs.engine import bodies, layout
from qwop.envs.names import ACTION_KEYS
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.observations import observe_as
from qwop.envs.qwop.vector import QWOPVectorEnv

GAMES = np.load(Path(__file__).with_name("recorded_games.npz"))

BEFORE_THE_HURDLE = GAMES["run_13_dqn_a/keys"][:920]


@pytest.mark.parametrize("seed", range(3))
def test_four_ways_agree_in_the_hurdle_and_to_the_fall(seed: int) -> None:
    """`replay`, an environment by decisions, one by keys, a row of a batch, and an environment that was resumed."""
    recorded = [int(np.flatnonzero(keys == ACTION_KEYS)[0]) for keys in BEFORE_THE_HURDLE]
    drawn = np.random.default_rng(seed).integers(0, 11, 60)
    actions = np.concatenate([recorded, drawn.repeat(10)])
    game = replay(ACTION_KEYS[actions])
    alone, by_keys, resumed = (QWOPEnv(frames_per_step=1) for _ in range(3))
    beside = QWOPVectorEnv(2, frames_per_step=1)
    alone.reset()
    by_keys.reset()
    beside.reset()
    playing = [alone, by_keys]
    for frame in range(len(game.states) - 1):
        if frame == 950:
            resumed.reset()
            resumed.set_state(alone.get_state())
            playing.append(resumed)
        seen = observe_as("features", game.states[frame + 1])
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
    assert terminated
    assert game.events[-1, 4] == 1.0
    hurdle = game.states[-1, layout.HURDLE_TOP]
    assert (hurdle[:3] != bodies.START[layout.HURDLE_TOP]).any()
