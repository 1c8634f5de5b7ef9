"""Spaces of other packages' environments: every discrete action, and observations as numbers."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from qwop.common.errors import BadInput
from qwop.envs.actions import action_at, action_count, action_names, index_of_action
from qwop.envs.spec import EnvironmentSpec, ObservationSpec, interface_of
from qwop.envs.vector import make_vector

from .conftest import Make
from .odd import Odd

ACTIONS = [
    (spaces.Discrete(3, start=-1), [-1, 0, 1]),
    (spaces.Discrete(2, dtype=np.int8), [0, 1]),
    (spaces.Discrete(2, start=1, dtype=np.uint8), [1, 2]),
    (spaces.MultiBinary(2), [[0, 0], [1, 0], [0, 1], [1, 1]]),
    (spaces.MultiBinary([1, 2]), [[[0, 0]], [[1, 0]], [[0, 1]], [[1, 1]]]),
    (spaces.MultiDiscrete([2, 3]), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]),
    (spaces.MultiDiscrete([2], start=[5]), [[5], [6]]),
    (spaces.Tuple((spaces.Discrete(2), spaces.MultiBinary(1))), [[0, [0]], [0, [1]], [1, [0]], [1, [1]]]),
    (spaces.Dict({"a": spaces.Discrete(1), "b": spaces.Discrete(2)}), [{"a": 0, "b": 0}, {"a": 0, "b": 1}]),
]


@pytest.mark.parametrize(("space", "forms"), ACTIONS, ids=lambda one: str(one)[:24])
def test_each_number_is_one_action_that_the_environment_takes(odd: Make, space: Any, forms: list[Any]) -> None:
    spec = odd(actions=space)
    assert spec.interface() == (ObservationSpec((3,)), len(forms))
    for number, form in enumerate(forms):
        assert space.contains(action_at(space, number))
        assert index_of_action(space, form) == number
    env = spec.make()
    assert env.action_space == spaces.Discrete(len(forms))
    env.reset()
    numbers = [0, 1, len(forms) - 1]
    for number in numbers:
        env.step(number)
    taken = env.unwrapped.taken  # type: ignore[attr-defined]
    assert [index_of_action(space, one) for one in taken] == numbers
    assert all(space.contains(one) for one in taken)
    names = action_names(env)
    assert forms == [*range(len(forms))] if names is None else len(set(names)) == len(forms)


@settings(deadline=None)
@given(st.data())
def test_numbers_and_joint_actions_are_inverse_to_each_other(data: st.DataObject) -> None:
    space = spaces.MultiDiscrete(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    number = data.draw(st.integers(0, action_count(space, "one") - 1))
    assert index_of_action(space, action_at(space, number)) == number


def test_a_vector_of_games_takes_numbers_too(odd: Make) -> None:
    env = make_vector(odd(actions=spaces.MultiBinary(2)), 3)
    env.reset(seed=0)
    env.step(np.array([0, 2, 3]))
    taken = [one.unwrapped.taken[0].tolist() for one in env.envs]  # type: ignore[attr-defined]
    assert taken == [[0, 0], [0, 1], [1, 1]]


def test_names_are_the_environments_own_or_those_of_a_well_known_one_or_the_actions_form(odd: Make) -> None:
    assert EnvironmentSpec("CartPole-v1").open().action_names == ("push left", "push right")
    assert odd(actions=spaces.MultiBinary(2)).open().action_names == ("[0, 0]", "[1, 0]", "[0, 1]", "[1, 1]")
    assert EnvironmentSpec("Blackjack-v1").open().action_names is None


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (spaces.Box(-1, 1, (2,)), r"continuous; expected Discrete\(n\), MultiBinary.*Stable-Baselines3"),
        (spaces.Box(0, 255, (2,), np.uint8), r"uint8\); expected Discrete\(n\), .* or Dict of these; wrap the env"),
        (spaces.MultiBinary(16), "65,536 in all, expected at most 1,024; wrap"),
        (spaces.Discrete(100_000), "100,000 in all, expected at most 32,767"),
        (spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1))), r"expected Discrete\(n\), MultiBinary"),
    ],
    ids=str,
)
def test_other_actions_are_refused_with_what_would_be_taken(odd: Make, actions: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        odd(actions=actions).interface()


ONE = spaces.Box(-1, 1, (1,), np.float32)

OBSERVATIONS = [
    (spaces.Discrete(3), lambda n: n % 3, [1, 0, 0]),
    (spaces.Box(0, 1, (), np.float32), lambda n: np.array(0.5, np.float32), [0.5]),
    (
        spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Box(-1, 1, (2,), np.float32)}),
        lambda n: {"a": np.array([0.5, -0.5], np.float32), "b": 1},
        [0.5, -0.5, 0, 1],
    ),
    (
        spaces.Tuple((spaces.Box(-1, 1, (1,), np.float32), spaces.MultiBinary(2))),
        lambda n: (np.array([0.25], np.float32), np.array([1, 0], np.int8)),
        [0.25, 1, 0],
    ),
    (
        spaces.Dict({"mission": spaces.Text(9), "place": spaces.Discrete(2)}),
        lambda n: {"mission": "go", "place": 1},
        [0, 1],
    ),
    (
        spaces.Dict({"place": spaces.Discrete(2), "told": spaces.Dict({"mission": spaces.Text(9), "b": ONE})}),
        lambda n: {"place": 1, "told": {"mission": "go", "b": np.array([0.5], np.float32)}},
        [0, 1, 0.5],
    ),
    (
        spaces.Tuple((spaces.Text(9), ONE, spaces.Dict({"mission": spaces.Text(9)}), spaces.Discrete(2))),
        lambda n: ("go", np.array([0.5], np.float32), {"mission": "go"}, 1),
        [0.5, 0, 1],
    ),
]


@pytest.mark.parametrize(("space", "see", "row"), OBSERVATIONS, ids=lambda one: str(one)[:24])
def test_observations_of_numbers_become_rows(odd: Make, space: Any, see: Any, row: list[float]) -> None:
    spec = odd(observations=space, see=see)
    observation, _ = spec.interface()
    assert observation == ObservationSpec((len(row),))
    for env, seen_row in ((spec.make(), row), (make_vector(spec, 2), [row, row])):
        assert observation.array(env.reset()[0]).tolist() == seen_row


def test_a_picture_alone_in_a_mapping_stays_a_picture(odd: Make) -> None:
    pictures = spaces.Box(0, 255, (40, 40, 3), np.uint8)
    spec = odd(observations=spaces.Dict({"image": pictures}), see=lambda n: {"image": np.zeros((40, 40, 3), np.uint8)})
    assert spec.interface()[0] == ObservationSpec((40, 40, 3), "uint8")


def test_observations_that_are_no_numbers_are_refused_with_what_would_be_taken(odd: Make) -> None:
    with pytest.raises(BadInput, match="expected a Box of numbers or an image, discrete ones, or a Dict or Tuple"):
        odd(observations=spaces.Text(5)).interface()
    with pytest.raises(BadInput, match="expected a Box of numbers"):
        interface_of(spaces.Sequence(spaces.Discrete(2)), spaces.Discrete(2), "one")
    with pytest.raises(BadInput, match="which has no numbers"):
        odd(observations=spaces.Box(0, 1, (0,))).interface()
    with pytest.raises(BadInput, match="have 20,000,000 numbers, expected at most 16,777,216"):
        ObservationSpec.of(spaces.Box(0, 1, (20_000_000,)), "one")


@pytest.mark.parametrize(
    ("shape", "channels", "height", "width"),
    [
        ((84, 84), 1, 84, 84),
        ((84, 84, 3), 3, 84, 84),
        ((84, 84, 9), 9, 84, 84),
        ((210, 160, 12), 12, 210, 160),
        ((3, 84, 84), 3, 84, 84),
        ((4, 84, 84), 4, 84, 84),
        ((12, 210, 160), 12, 210, 160),
        ((64, 36, 36), 64, 36, 36),
        ((4, 84, 84, 3), 12, 84, 84),
        ((4, 3, 84, 84), 12, 84, 84),
    ],
)
def test_height_width_and_channels_are_found_in_any_usual_order(
    shape: tuple[int, ...], channels: int, height: int, width: int
) -> None:
    picture = ObservationSpec(shape, "uint8")
    assert picture.is_image
    assert picture.channels == channels
    assert tuple(shape[axis] for axis in picture.axes[1:]) == (height, width)


def test_bytes_in_a_small_square_are_numbers() -> None:
    assert not ObservationSpec((7, 7, 3), "uint8").is_image
    assert ObservationSpec((20, 84), "uint8").is_image


def test_observations_of_every_type_are_as_datasets_and_policies_hold_them(odd: Make) -> None:
    whole = spaces.Box(-(2**60), 2**60, (2,), np.int64)
    for space in (whole, spaces.Box(0, 1, (2,), np.float64), spaces.Box(-1, 1, (2,), np.int8), spaces.Discrete(2)):
        spec = odd(observations=space, see=1 if isinstance(space, spaces.Discrete) else None)
        env = make_vector(spec, 2)
        seen, _ = env.reset()
        assert (seen.dtype, env.single_observation_space.dtype) == (np.float32, np.float32)
        assert spec.make().reset()[0].dtype == np.float32
    assert make_vector(EnvironmentSpec("Blackjack-v1"), 2).reset(seed=0)[0].dtype == np.float32


def test_whole_numbers_that_float32_rounds_are_not_copied_to_it() -> None:
    with pytest.raises(BadInput, match=r"observations\[0\] is 16777217"):
        ObservationSpec((1,)).array(np.array([2**24 + 1]))


def test_the_spaces_of_a_vector_are_those_of_the_record() -> None:
    spec = EnvironmentSpec("FrozenLake-v1")
    np.testing.assert_array_equal(make_vector(spec, 2).reset(seed=0)[0], np.eye(16)[[0, 0]])
    assert spec.interface() == (ObservationSpec((16,)), 4)


class Named(Odd):
    """An environment that names its actions by an attribute that a test sets."""

    meanings: Any = None

    def get_action_meanings(self) -> Any:
        return self.meanings()


@pytest.mark.parametrize(
    ("meanings", "names"),
    [
        (lambda: ["go", "stop"], ("go", "stop")),
        (lambda: {0: "a", 1: 2}, ("a", "2")),
        (lambda: ["down\nleft", "\udc80"], ("down\\nleft", "\\udc80")),
        (lambda: ["too", "many", "names"], None),
        (lambda: 2, None),
    ],
)
def test_an_environment_names_its_actions(monkeypatch: pytest.MonkeyPatch, meanings: Any, names: Any) -> None:
    monkeypatch.setattr(Named, "meanings", staticmethod(meanings))
    assert action_names(Named()) == names


class Unready(Odd):
    """An environment that has its list of actions only once it is played."""

    @property
    def actions(self) -> Any:
        return {}["level"]


def test_names_that_cannot_be_told_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert action_names(Unready()) is None
    monkeypatch.setattr(Named, "meanings", staticmethod(lambda: {}["up"]))
    with pytest.raises(BadInput, match=r"its get_action_meanings failed \(KeyError: 'up'\); mend the environment"):
        action_names(Named())
