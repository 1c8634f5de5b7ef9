"""Keys of environments whose actions are no numbers from 0."""

import itertools
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec
from qwop.recorder.page.environment_keys import MOST_HELP, key_map


class Keyboard(gymnasium.Env[Any, Any]):
    """Notes the actions that it is given."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, actions: Any, render_mode: str | None = None) -> None:
        self.action_space = actions
        self.taken: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken.append(np.asarray(action).tolist())
        return np.zeros(1, np.float32), 0.0, len(self.taken) == 4, False, {}

    def render(self) -> np.ndarray[Any, Any]:
        return np.zeros((8, 8, 3), np.uint8)


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    gymnasium.registry.pop("Keyboard-v0", None)


def made(actions: Any) -> gymnasium.Env[Any, Any]:
    gymnasium.register("Keyboard-v0", Keyboard, kwargs={"actions": actions})
    return EnvironmentSpec("Keyboard-v0").make(render_mode="rgb_array")


def test_keys_of_a_multi_binary_combine_as_on_a_keyboard() -> None:
    keys = key_map(made(spaces.MultiBinary(2)), 4, {}, None)
    assert keys.keys == ["0", "1"]
    assert [keys.action(held) for held in range(4)] == [0, 1, 2, 3]


def test_many_keys_are_listed_one_by_one() -> None:
    given = {"+".join(keys): 0 for size in (1, 2) for keys in itertools.combinations("abcd", size)}
    keys = key_map(made(spaces.Discrete(2)), 2, given, None)
    assert len(keys.actions) > MOST_HELP
    assert keys.help() == [([key], "action 0") for key in "abcd"]


@pytest.mark.parametrize(
    ("space", "given", "number"),
    [
        (spaces.Discrete(3, start=-1), -1, 0),
        (spaces.Discrete(3, start=-1), "1", 2),
        (spaces.MultiBinary(2), [0, 1], 2),
        (spaces.MultiBinary(2), "[0, 1]", 2),
        (spaces.MultiDiscrete([2, 3]), [1, 0], 3),
    ],
)
def test_an_action_is_given_as_the_environment_takes_it_or_by_its_name(space: Any, given: Any, number: int) -> None:
    env = made(space)
    count = int(env.action_space.n)  # type: ignore[attr-defined]
    assert key_map(env, count, {"a": given}, None).actions == {frozenset("a"): number}


@pytest.mark.parametrize(
    ("space", "given", "said"),
    [
        (
            spaces.Discrete(3, start=-1),
            2,
            r"a is 2, expected an action of Discrete\(3, start=-1\)",
        ),
        (spaces.MultiBinary(2), [0, 2], r"a is \[0, 2\], expected an action of MultiBinary\(2\)"),
        (spaces.MultiBinary(2), True, "a is true, expected"),
    ],
)
def test_an_action_that_it_does_not_take_is_refused(space: Any, given: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        key_map(made(space), 4, {"a": given}, None)


def test_digits_are_the_actions_of_a_space_from_any_start() -> None:
    keys = key_map(made(spaces.Discrete(3, start=-1)), 3, {}, -1)
    assert keys.actions == {frozenset("0"): 0, frozenset("1"): 1, frozenset("2"): 2}
    assert keys.default == 0
    assert keys.names == ("-1", "0", "1")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (5, "get_keys_to_action gives 5, expected actions by their keys"),
        ({None: 0}, "the environment names the key null, which is not known here: set source.actions"),
        ({("left",): 0}, "the environment names the key left, which is not known here: set source.actions"),
        ({7: 0}, "the environment names key code 7, which is not known here: set source.actions"),
    ],
    ids=str,
)
def test_keys_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch, keys: Any, said: str) -> None:
    monkeypatch.setattr(Keyboard, "get_keys_to_action", lambda env: keys, raising=False)
    with pytest.raises(BadInput, match=said):
        key_map(made(spaces.Discrete(2)), 2, {}, None)
