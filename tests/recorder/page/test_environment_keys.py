"""Keys of environments whose actions are no numbers from 0."""

from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from qwop.common.errors import BadInput
from qwop.datasets.schema import DatasetInfo
from qwop.envs.spec import EnvironmentSpec
from qwop.recorder.page.environment_game import EnvironmentGame
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
    env = made(spaces.MultiBinary(2))
    keys = key_map(env, 4, {}, None)
    assert keys.keys == ["0", "1"]
    assert [keys.action(held) for held in range(4)] == [0, 1, 2, 3]
    info = DatasetInfo(EnvironmentSpec("Keyboard-v0"), *EnvironmentSpec("Keyboard-v0").interface())
    game = EnvironmentGame(env, keys.action, info, "me", 0.05)
    game.advance(1, [1, 0, 3, 2])
    assert env.unwrapped.taken == [[1, 0], [0, 0], [1, 1], [0, 1]]  # type: ignore[attr-defined]
    assert game.episode().actions.tolist() == [1, 0, 3, 2]


def test_many_keys_are_listed_one_by_one() -> None:
    keys = key_map(made(spaces.MultiBinary(6)), 64, {}, None)
    assert len(keys.actions) > MOST_HELP
    assert keys.help()[0] == (["0"], "[1, 0, 0, 0, 0, 0]")
    assert len(keys.help()) == 6


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
        (spaces.Discrete(3, start=-1), 2, "a is 2, expected an action from -1 to 1"),
        (spaces.MultiBinary(2), [0, 2], r"a is \[0, 2\], expected an action of MultiBinary\(2\), such as \[1, 1\]"),
        (spaces.MultiBinary(2), True, "a is true, expected"),
    ],
)
def test_an_action_that_it_does_not_take_is_refused(space: Any, given: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        key_map(made(space), 4, {"a": given}, None)


def test_a_name_of_two_actions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keyboard, "get_action_meanings", lambda env: ["wait", "jump", "jump"], raising=False)
    env = made(spaces.Discrete(3))
    with pytest.raises(BadInput, match=r"source\.actions: a is jump, the name of 2 actions; give what the environment"):
        key_map(env, 3, {"a": "jump"}, None)
    assert key_map(env, 3, {"a": 2, "b": "wait"}, None).actions == {frozenset("a"): 2, frozenset("b"): 0}


@pytest.mark.parametrize(("one", "other"), [("a", "A"), ("a+Shift", "shift+A")])
def test_keys_that_are_given_in_two_forms_are_refused(one: str, other: str) -> None:
    with pytest.raises(BadInput, match=r"source\.actions: .* is there twice, in another form; give it once"):
        key_map(made(spaces.Discrete(2)), 2, {one: 0, other: 1}, None)


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
