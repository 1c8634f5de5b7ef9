"""Rewards of decisions."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from qwop.datasets.from_keys import effective_action
from qwop.envs import replay
from qwop.envs.names import BODIES
from qwop.envs.qwop.env import QWOPEnv
from qwop.envs.qwop.keys_file import read_keys
from qwop.envs.qwop.rewards import rewards_along
from qwop.policies.champion import keys_path


def rewards_of(env: QWOPEnv, actions: Iterable[int]) -> NDArray[np.float64]:
    """The rewards of a whole game with these actions."""
    env.reset(seed=0)
    steps = [env.step(int(action)) for action in actions]
    assert steps[-1][2]
    return np.array([step[1] for step in steps])


def test_speed_is_twice_the_progress_and_never_negative() -> None:
    got = rewards_along("speed", [0.0, 1.5, 1.0, 4.0], [9.0, -9.0, 9.0, 0.0], [0.0, -2.0, 0.0, 0.0])
    np.testing.assert_array_equal(got, [3.0, 0.0, 6.0])


def test_shaped_takes_off_for_a_low_torso_bobbing_and_bent_knees() -> None:
    x = [0.0, 2.0, 2.0, 1.0, 1.0, 1.0]
    y = [-2.0, -2.0, -1.0, -1.0, 3.0, 3.0]
    knee = [-1.2, -0.9, -0.5, -1.5, 0.0, -0.95]
    got = rewards_along("shaped", x, y, knee)
    np.testing.assert_allclose(got, [2.0, -0.25, -0.25, -0.6 - 1.0, -0.6 - 0.95 / 6], atol=1e-12)


def test_race_pays_metres_up_to_the_line_and_the_end() -> None:
    x = [0.0, 20.0, 10.0, 995.0, 1010.0]
    still, straight = np.zeros(5), np.zeros(5)
    got = rewards_along("race", x, still, straight, outcome="finished")
    np.testing.assert_allclose(got, [2.0, -1.0, 98.5, 0.5 + 10.0], atol=1e-12)
    np.testing.assert_allclose(rewards_along("race", x[:2], still[:2], straight[:2], outcome="fell"), [2.0 - 1.0])
    for outcome, expected in (("fell", 2.0 - 6.0), ("stopped", 2.0)):
        got = rewards_along("race", x[:2], still[:2], straight[:2], fall_penalty=6.0, outcome=outcome)
        np.testing.assert_allclose(got, [expected])


def test_only_pushing_the_hurdle_forward_costs() -> None:
    x, still, straight = np.arange(4.0), np.zeros(4), np.zeros(4)
    hurdle = [500.0, 505.0, 503.0, 503.0]
    free = rewards_along("race", x, still, straight, hurdle)
    np.testing.assert_array_equal(free, rewards_along("race", x, still, straight))
    got = rewards_along("race", x, still, straight, hurdle, push_penalty=0.4)
    np.testing.assert_allclose(got - free, [-0.2, 0.0, 0.0], atol=1e-12)


def test_a_whole_game_pays_for_each_metre_by_which_it_pushes_the_hurdle() -> None:
    keys = read_keys(keys_path("champion"))
    hurdle = replay(keys).states[:, BODIES.index("hurdleBase"), 0]
    free, paid = (
        rewards_of(QWOPEnv(frames_per_step=1, reward="race", push_penalty=price), map(effective_action, keys))
        for price in (0.0, 2.0)
    )
    pushed = np.maximum(np.diff(hurdle), 0.0) / 10
    assert pushed.sum() > 0.5  # a game that never touches the hurdle would show nothing
    np.testing.assert_allclose(free - paid, 2.0 * pushed[-len(keys) :], atol=1e-9)


def test_a_fall_costs_what_the_task_says_and_nothing_else_does() -> None:
    """Held from the start, O and P make the runner fall after 16 decisions."""
    cheap, dear = (rewards_of(QWOPEnv(reward="race", fall_penalty=price), [7] * 16) for price in (1.0, 6.0))
    np.testing.assert_array_equal(cheap[:-1], dear[:-1])
    np.testing.assert_allclose(cheap[-1] - dear[-1], 5.0)


def test_the_training_wheels_of_race_are_those_of_shaped() -> None:
    generator = np.random.default_rng(0)
    x, y, knee = np.cumsum(generator.random(50)), generator.normal(size=50), generator.normal(size=50)
    wheels = rewards_along("shaped", x, y, knee) - np.diff(x)
    got = rewards_along("race", x, y, knee, shaping=1.5) - rewards_along("race", x, y, knee)
    np.testing.assert_allclose(got, 0.15 * wheels, atol=1e-12)
    assert (wheels < 0).any()
