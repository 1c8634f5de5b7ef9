"""Keys of environments."""

from typing import Any

import gymnasium
import pytest
from gymnasium import spaces
from qwop.common.errors import BadInput
from qwop.envs.spec import EnvironmentSpec
from qwop.recorder.page.environment_keys import KeyMap, key_map

from ...fakes import registered
from .scripted import Endless

KEYS = KeyMap({frozenset(["a"]): 1, frozenset(["a", "b"]): 2, frozenset(["c"]): 3}, default=0)


def keys_of(space: Any, given: Any = {}) -> KeyMap:  # noqa: B006
    with registered(Endless, actions=space) as id:
        env = EnvironmentSpec(id).make(render_mode="rgb_array")
    return key_map(env, given)


def test_the_largest_combination_that_is_held_decides() -> None:
    assert KEYS.keys == ["a", "b", "c"]
    assert [KEYS.action(held) for held in range(8)] == [0, 1, 0, 2, 3, 1, 3, 2]


def test_keys_come_from_the_setting_from_the_environment_or_are_digits() -> None:
    mountain_car = gymnasium.make("MountainCar-v0")
    own = key_map(mountain_car, {})
    left, right = "ArrowLeft", "ArrowRight"
    assert own.actions == {frozenset([left]): 0, frozenset([right]): 2, frozenset([left, right]): 1}
    assert own.default == 1
    setting = key_map(mountain_car, {"A": 0, "": 1, "space + arrowup": 2})
    assert setting == KeyMap({frozenset(["a"]): 0, frozenset(["Space", "ArrowUp"]): 2}, 1, own.names)
    digits = keys_of(spaces.Discrete(3, start=-1))
    assert digits == KeyMap({frozenset("0"): 0, frozenset("1"): 1, frozenset("2"): 2}, None, ("-1", "0", "1"))


@pytest.mark.needs(module="ale_py")
def test_keys_of_an_atari_game_mean_its_own_actions_and_no_key_does_nothing() -> None:
    keys = key_map(EnvironmentSpec("ALE/Pong-v5").make(), {})
    assert keys.default == 0
    assert keys.actions == {
        frozenset(["e"]): 0, frozenset(["Space"]): 1, frozenset(["d"]): 2, frozenset(["a"]): 3,
        frozenset(["Space", "d"]): 4, frozenset(["Space", "a"]): 5,
    }  # fmt: skip
    assert (["Space", "d"], "RIGHTFIRE") in keys.help()


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
    assert keys_of(space, {"a": given}).actions == {frozenset("a"): number}


@pytest.mark.parametrize(
    ("space", "given", "message"),
    [
        (spaces.Discrete(3, start=-1), {"a": 2}, r"a is 2, expected an action of Discrete\(3, start=-1\)"),
        (spaces.MultiBinary(2), {"a": [0, 2]}, r"a is \[0, 2\], expected an action of MultiBinary\(2\)"),
        (spaces.MultiBinary(2), {"a": True}, "a is true, expected"),
        (spaces.Discrete(2), {"ab": 1}, "source.actions: ab is no key; expected a character or one of ArrowLeft"),
        (spaces.Discrete(2), {"m": 1}, "m is a key of the page itself"),
        (spaces.Discrete(2), dict.fromkeys("0123456789abcdefg", 0), "17 keys"),
        (spaces.Discrete(11), {}, "has 11 actions and does not name their keys"),
        (5, {}, "get_keys_to_action gives 5, expected actions by their keys"),
        ({None: 0}, {}, "the environment names the key null, which is not known here: set source.actions"),
        ({("left",): 0}, {}, "the environment names the key left, which is not known here"),
        ({7: 0}, {}, "the environment names the key 7, which is not known here"),
    ],
    ids=str,
)
def test_actions_and_keys_that_are_none_are_refused(
    monkeypatch: pytest.MonkeyPatch, space: Any, given: Any, message: str
) -> None:
    """space: or the keys that the environment names."""
    if not isinstance(space, spaces.Space):
        monkeypatch.setattr(Endless, "get_keys_to_action", lambda env, own=space: own, raising=False)
        space = None
    with pytest.raises(BadInput, match=message):
        keys_of(space, given)
