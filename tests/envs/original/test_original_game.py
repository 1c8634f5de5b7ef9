"""The original game itself, from a local copy: it is the simulator's game, to the bit."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from qwop.envs import replay
from qwop.envs.original.page import OriginalPage, PageSettings
from qwop.envs.qwop.observations import observe_as


def test_recorded_keys_give_the_same_bits_game_after_game(original: str, trigonometry: str) -> None:
    random = np.random.default_rng(0)
    with OriginalPage(PageSettings(folder=original)) as page:
        for number in range(20):
            keys = random.integers(0, 16, 80).repeat(random.integers(3, 20, 80)).astype(np.uint8)
            if number % 3 == 0:
                keys = keys[:30]  # given up
            start, game = page.new_game(), replay(keys, trigonometry=trigonometry)
            played = page.play(keys)
            states = np.concatenate([start.states, played.states])
            np.testing.assert_array_equal(states.view(np.int64), game.states.view(np.int64))
            np.testing.assert_array_equal(np.concatenate([start.events, played.events]), game.events)
            np.testing.assert_array_equal(np.concatenate([start.hidden, played.hidden]), game.hidden)
            joints = played.joints.astype(np.float32)
            np.testing.assert_array_equal(joints, observe_as("features", game.states)[1:, 5:16])


@pytest.mark.parametrize(
    ("task", "live"),
    [
        ({"frames_per_step": 3}, True),
        ({"frames_per_step": 4, "reward": "shaped", "observation_lag": 1}, False),
        ({"frames_per_step": 2, "reward": "race", "shaping": 0.5, "fall_penalty": 6.0, "observation": "full"}, False),
        ({"reward": "race", "push_penalty": 0.5, "observation": "full", "observation_lag": 1}, False),
        ({"frames_per_step": 1, "observation": "contact"}, False),
    ],
)
@pytest.mark.usefixtures("present_browser")
def test_both_environments_are_one_game(original: str, task: dict[str, Any], live: bool) -> None:
    simulator = gymnasium.make("QWOP-v1", time_limit=2.0, max_idle_frames=9, **task)
    page = gymnasium.make("QWOPOriginal-v1", folder=original, live=live, time_limit=2.0, max_idle_frames=9, **task)
    random = np.random.default_rng(0)
    for seed in range(2):
        seen, info = page.reset(seed=seed)
        expected, expected_info = simulator.reset(seed=seed)
        np.testing.assert_array_equal(seen, expected)
        assert info == expected_info
        over = False
        while not over:
            action = int(random.integers(11))
            step, expected_step = page.step(action), simulator.step(action)
            np.testing.assert_array_equal(step[0], expected_step[0])
            assert step[1:] == expected_step[1:]
            over = step[2] or step[3]
    page.close()
