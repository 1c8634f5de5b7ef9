"""Vectors of environments that reset in the same step."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec
from qwop.envs.vector import make_vector, played_values

from .conftest import Make
from .odd import Odd


class Counting(Odd):
    """Ends after `length` steps; its info counts them."""

    def __init__(self, length: int) -> None:
        super().__init__(tell=lambda count: {"count": count, "name": f"step {count}"})
        self.length = length

    def step(self, action: Any) -> tuple[Any, Any, Any, bool, Any]:
        seen, pay, _, cut, info = super().step(action)
        return seen, pay, len(self.taken) == self.length, cut, info


def counting(*lengths: int) -> SyncVectorEnv:
    return SyncVectorEnv([lambda one=one: Counting(one) for one in lengths], autoreset_mode=AutoresetMode.SAME_STEP)


def test_played_values_are_those_of_the_step_in_games_that_began_again_too() -> None:
    env = counting(1, 3, 5)
    env.reset(seed=0)
    for step in range(1, 7):
        *_, infos = env.step(np.zeros(3, dtype=np.int64))
        np.testing.assert_array_equal(played_values(infos, "count"), [1, (step - 1) % 3 + 1, (step - 1) % 5 + 1])
        assert played_values(infos, "metres") is None
    everyone = counting(1)
    everyone.reset(seed=0)
    np.testing.assert_array_equal(played_values(everyone.step(np.zeros(1, np.int64))[4], "count"), [1])


def test_an_environment_with_a_vector_form_alone_is_refused_with_what_it_lacks() -> None:
    vector = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"
    gymnasium.register("Many-v0", vector_entry_point=vector)
    try:
        with pytest.raises(BadInput, match=r"Many-v0: it is registered with a vector form alone, .* \(entry_point of"):
            make_vector(EnvironmentSpec("Many-v0"), 2)
    finally:
        del gymnasium.registry["Many-v0"]


def test_spaces_that_change_from_one_instance_to_the_next_are_told_in_one_line(odd: Make) -> None:
    sizes = iter(range(1, 9))
    spec = odd(lambda: Odd(observations=gymnasium.spaces.Box(0, 1, (next(sizes),))))
    with pytest.raises(BadInput, match=r"environment Odd-v0\(\): cannot be made .*spaces are not equivalent"):
        make_vector(spec, 2)


@pytest.mark.parametrize(
    ("id", "settings", "count", "said"),
    [
        ("NoSuchGame-v1", {}, 2, "NoSuchGame"),
        ("CartPole-v1", {"frames_per_step": 3}, 2, "CartPole-v1: no setting frames_per_step"),
        ("CartPole-v1", {"id": "QWOP-v1"}, 2, "CartPole-v1: no setting id; leave it out"),
        ("QWOP-v1", {"speed": 3}, 2, "QWOP-v1: speed: no such setting"),
        ("CartPole-v1", {}, 0, "num_envs=0"),
    ],
)
def test_what_cannot_be_made_is_told_in_one_line(id: str, settings: dict[str, Any], count: int, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        make_vector(EnvironmentSpec(id, settings), count)
